// What is on screen stays true: changes by others appear without a touch, over connections that are cut, a server that starts anew, and a
// proxy that holds answers back; in eight tabs at once.
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { no_browser, startBrowser, type TestBrowser, type User, without_databases } from './browser.ts'

/** Between the browser and the server. */
type Proxy = {
  url: string
  /** Where the server listens. */
  to: string
  /** Holds the answer to a stream back until it ends, as some do that compress. */
  holds: boolean
  held: number
  cut(): void
  close(): Promise<void>
}

let proxy: Proxy
let browser: TestBrowser
let user: User
let names = 0
beforeAll(async () => {
  if (no_browser !== '') return
  proxy = await startProxy()
  browser = await startBrowser({ config: { ...without_databases, public_url: proxy.url } })
  proxy.to = browser.howdah.server.url
  user = await browser.newUser('owner')
  await user.open(`/projects/${browser.howdah.project_id}/services`)
  await changeIsSeen(user.page)
})
afterAll(async () => {
  if (no_browser !== '') return
  await browser.stop()
  await proxy.close()
})

/** Made by another program. */
async function changeIsSeen(...pages: Page[]): Promise<void> {
  names += 1
  const { service_id } = await browser.howdah.createService({ name: `live-${names}` })
  await Promise.all(pages.map((page) => page.getByRole('link', { name: `live-${names}`, exact: true }).waitFor()))
  await browser.howdah.call('POST', `${browser.howdah.services}/${service_id}/rename`, { name: `alive-${names}` })
  await Promise.all(pages.map((page) => page.getByRole('link', { name: `alive-${names}`, exact: true }).waitFor()))
}

const live = (page: Page) => page.getByRole('status', { name: 'live', exact: true }).waitFor()

test.skipIf(no_browser)(`over connections that are cut${no_browser}`, async () => {
  await live(user.page)
  proxy.cut()
  await changeIsSeen(user.page)
  await live(user.page)
})

test.skipIf(no_browser)(`over a server that starts anew${no_browser}`, async () => {
  await browser.howdah.restart()
  proxy.to = browser.howdah.server.url
  await changeIsSeen(user.page)
  await live(user.page)
})

test.skipIf(no_browser)(`a log is followed as it is written, and nothing comes twice${no_browser}`, async () => {
  const { howdah } = browser
  const { service_id } = await howdah.createService({ name: 'logged' })
  await user.open(`/projects/${howdah.project_id}/services/${service_id}/logs`)
  const entries = user.page.getByRole('region', { name: 'Log entries, newest first' }).getByRole('button')
  await entries.first().waitFor()
  for (const [verb, state] of [
    ['stop', 'stopped'],
    ['start', 'serving'],
  ] as const) {
    await howdah.call('POST', `${howdah.services}/${service_id}/${verb}`)
    await entries.first().getByText(state).waitFor()
    if (verb === 'stop') proxy.cut()
  }
  const texts = await entries.allTextContents()
  expect(new Set(texts).size).toBe(texts.length)
  await user.open(`/projects/${howdah.project_id}/services`)
})

test.skipIf(no_browser)(`in eight tabs of one browser${no_browser}`, async () => {
  const pages = await Promise.all(Array.from({ length: 7 }, () => user.context.newPage()))
  const path = `${proxy.url}/projects/${browser.howdah.project_id}/services`
  await Promise.all(pages.map((page) => page.goto(path, { waitUntil: 'commit' })))
  await Promise.all(pages.map((page) => page.getByRole('link', { name: 'logged' }).waitFor()))
  await changeIsSeen(user.page, ...pages)
  await Promise.all(pages.map((page) => page.close()))
})

test.skipIf(no_browser)(`behind a proxy that holds streams back${no_browser}`, async () => {
  proxy.holds = true
  proxy.cut()
  await changeIsSeen(user.page)
  await live(user.page)
  expect(proxy.held).toBeGreaterThan(0)
  await changeIsSeen(user.page)
  expect(user.wrong).toEqual([])
})

async function startProxy(): Promise<Proxy> {
  const sockets = new Set<Socket>()
  const server = createServer((from, back) => forward(proxy, from, back))
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await listening(server)
  const proxy: Proxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // a server that listens has one
    to: '',
    holds: false,
    held: 0,
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    close: async () => {
      proxy.cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return proxy
}

const listening = (server: Server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

function forward(proxy: Proxy, from: IncomingMessage, back: ServerResponse): void {
  const { method, headers, url = '/' } = from
  const on = request(proxy.to + url, { method, headers }, (answer) => {
    const is_stream = answer.headers['content-type']?.startsWith('text/event-stream') === true
    if (!is_stream || !proxy.holds) {
      back.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(back)
      return
    }
    proxy.held += 1
    const pieces: Buffer[] = []
    answer.on('data', (piece: Buffer) => pieces.push(piece))
    answer.on('end', () => back.writeHead(200, answer.headers).end(Buffer.concat(pieces)))
  })
  on.on('error', () => back.destroy())
  back.on('close', () => on.destroy())
  from.pipe(on)
}
