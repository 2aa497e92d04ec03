// Streams of a list that the test holds in its hand: where they begin and go on, and each way in which they end.
import fastify, { type FastifyInstance } from 'fastify'
import { connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { Fault } from '#contract/fault.ts'
import { until } from '#test/until.ts'
import { newLog } from '../log.ts'
import { faultOf, sendFault } from './errors.ts'
import type { HandlerRequest, Tail } from './handler.ts'
import { caller_streams_max, newStreams, type Pace, project_streams_max, wantsStream } from './stream.ts'

const patient: Pace = { read_ms: 3_600_000, heartbeat_ms: 3_600_000, unread_ms: 3_600_000 }
let app: FastifyInstance | undefined
afterEach(() => app?.close())

/** A list of texts; the position is their number. `tell` calls those that watch. */
async function serveList(pace: Pace = patient) {
  const list: string[] = []
  const watching = new Set<() => void>()
  const state = { refusal: undefined as Fault | undefined, hidden: 0 }
  const tail = {
    read: async (_request: unknown, after: string | undefined) => {
      const from = Number(after ?? 0)
      const entries = list.map((entry, at) => ({ id: String(at + 1), entry })).slice(from)
      return { entries, at: String(list.length + state.hidden) }
    },
    watch: (_request: unknown, onNews: () => void) => {
      watching.add(onNews)
      return () => void watching.delete(onNews)
    },
  }
  const streams = newStreams(newLog('silent'), pace)
  // The connections of streams that have ended do not keep it open.
  app = fastify({ keepAliveTimeout: 1 })
  app.decorateRequest('caller', undefined)
  app.setErrorHandler((error, request, reply) => sendFault(reply, faultOf(error, request.id, newLog('silent'))))
  app.addHook('preClose', async () => streams.close())
  app.get('/:project_id', async (request, reply) => {
    if (!wantsStream(request)) return list
    const user = { id: String(request.headers['x-user'] ?? '1'), email: '', name: '' }
    request.caller = { type: 'oauth', user }
    return streams.serve(request, reply, {
      // The entries of this list are texts, those of the contract's lists are objects: the stream reads neither.
      tail: tail as unknown as Tail<'listServiceEvents'>,
      parsed: {} as HandlerRequest<'listServiceEvents'>,
      readmit: async () => {
        if (state.refusal !== undefined) throw state.refusal
      },
    })
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const tell = () => watching.forEach((onNews) => onNews())
  const add = (...entries: string[]) => {
    list.push(...entries)
    tell()
  }
  return { url: `${url}/p`, list, watching, state, add, tell }
}

async function open(url: string, headers: Record<string, string> = {}) {
  const left = new AbortController()
  const accept = 'text/event-stream'
  const response = await fetch(url, { headers: { accept, ...headers }, signal: left.signal })
  const came = { text: '', ended: false }
  const read = async () => {
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) came.text += piece
  }
  const done = read().then(
    () => void (came.ended = true),
    () => undefined,
  )
  return { response, came, done, leave: () => left.abort() }
}

const eventOf = (id: number, entry: string) => `id: ${id}\ndata: ${JSON.stringify(entry)}\n\n`

test('it begins with the list, goes on with what comes, and resumes after the last event', async () => {
  const { url, add } = await serveList()
  add('a', 'b')
  const first = await open(url)
  expect(first.response.headers.get('content-type')).toBe('text/event-stream')
  expect(first.response.headers.get('cache-control')).toBe('no-store, no-transform')
  const begin = `retry: 1000\n\n${eventOf(1, 'a')}${eventOf(2, 'b')}`
  await until(() => first.came.text === begin)
  add('c')
  await until(() => first.came.text === begin + eventOf(3, 'c'))
  first.leave()
  add('d', 'e')
  const second = await open(url, { 'last-event-id': '3' })
  await until(() => second.came.text === `retry: 1000\n\n${eventOf(4, 'd')}${eventOf(5, 'e')}`)
})

test('without news it reads now and then', async () => {
  const { url, list } = await serveList({ ...patient, read_ms: 1 })
  const { came } = await open(url)
  list.push('a')
  await until(() => came.text.endsWith(eventOf(1, 'a')))
})

test('a silent stream beats, and tells how far it has read what did not match', async () => {
  const { url, state } = await serveList({ ...patient, read_ms: 1, heartbeat_ms: 1 })
  const { came } = await open(url, { 'last-event-id': '0' })
  await until(() => came.text.startsWith('retry: 1000\n\n:\n\n:\n\n'))
  state.hidden = 7
  await until(() => /:\n\nid: 7\n\n(:\n\n)+$/.test(came.text))
})

test('a caller who may not read any more gets the reason, and the stream ends', async () => {
  const { url, state, tell, watching } = await serveList()
  const { came, done } = await open(url)
  state.refusal = new Fault('UNAUTHORIZED', 'the token was revoked')
  await until(() => watching.size === 1)
  tell()
  await done
  const body = JSON.stringify({ code: 'UNAUTHORIZED', message: 'the token was revoked' })
  expect(came).toEqual({ text: `retry: 1000\n\nevent: fault\ndata: ${body}\n\n`, ended: true })
  expect(watching.size).toBe(0)
})

test('a server that is closed ends its streams and does not wait for them', async () => {
  const { url, watching } = await serveList()
  const { came, done } = await open(url)
  await until(() => watching.size === 1)
  const closed = app?.close()
  await done
  expect(came).toEqual({ text: 'retry: 1000\n\n', ended: true })
  await closed
  expect(watching.size).toBe(0)
})

test('a client that leaves, and one that does not read, leave nothing behind', async () => {
  const { url, add, watching } = await serveList({ ...patient, unread_ms: 1 })
  const { leave } = await open(url)
  await until(() => watching.size === 1)
  leave()
  await until(() => watching.size === 0)
  const { host, port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  // A connection that is cut while bytes are unread is reset.
  socket.on('error', () => undefined)
  socket.write(`GET /p HTTP/1.1\r\nhost: ${host}\r\naccept: text/event-stream\r\n\r\n`)
  await until(() => watching.size === 1)
  // More than the buffers of both ends hold, none of which the client reads.
  while (watching.size === 1) {
    add('x'.repeat(1_000_000))
    await new Promise((resolve) => setImmediate(resolve))
  }
  socket.resume()
  await closed
})

test('a client that was behind and has caught up keeps its stream', async () => {
  const unread_ms = 3_000
  const { url, add } = await serveList({ ...patient, unread_ms })
  const { came } = await open(url)
  // More than the buffers hold, so that a write waits for the client.
  const large = 'x'.repeat(1_000_000)
  add(large, large, large, 'read')
  await until(() => came.text.endsWith(eventOf(4, 'read')))
  const read_at = performance.now()
  await until(() => performance.now() - read_at > unread_ms)
  add('later')
  await until(() => came.text.endsWith(eventOf(5, 'later')), { timeout_ms: 10_000 })
})

test('a caller and a project have so many at most, and one that ends makes place', async () => {
  const { url } = await serveList()
  const refused = async (user: number) => {
    const response = await fetch(url, { headers: { accept: 'text/event-stream', 'x-user': String(user) } })
    if (response.status === 200) await response.body?.cancel()
    return { status: response.status, body: response.status === 200 ? '' : await response.text() }
  }
  const all = []
  for (let at = 0; at < project_streams_max; at += 1) {
    all.push(await open(url, { 'x-user': String(Math.floor(at / caller_streams_max)) }))
  }
  expect(all.map(({ response }) => response.status)).toEqual(all.map(() => 200))
  expect(await refused(0)).toEqual({
    status: 429,
    body: expect.stringContaining(`a caller has at most ${caller_streams_max} open streams`),
  })
  expect(await refused(999)).toEqual({
    status: 429,
    body: expect.stringContaining(`a project has at most ${project_streams_max} open streams`),
  })
  all[0]?.leave()
  await until(async () => (await refused(0)).status === 200)
})

test.each([
  ['text/event-stream', true],
  ['text/html, text/event-stream;q=0.9', true],
  ['text/event-stream;q=0', false],
  ['application/json', false],
  ['*/*', false],
])('Accept: %s', async (accept, streams) => {
  const { url } = await serveList()
  const response = await fetch(url, { headers: { accept } })
  await response.body?.cancel()
  expect(response.headers.get('content-type')?.startsWith('text/event-stream')).toBe(streams)
})

test('a request for the head alone is answered', async () => {
  const { url } = await serveList()
  const response = await fetch(url, { method: 'HEAD', headers: { accept: 'text/event-stream' } })
  expect(response.headers.get('content-type')).toContain('application/json')
})
