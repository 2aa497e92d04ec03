// A Howdah for a bench: the real server as a child process in a folder of its own, and a client that does what any
// client does. Afterwards the server, its databases and its files are removed.
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { wait_seconds_max } from '#contract/endpoint.ts'
import type { Service } from '#contract/service.ts'
import { howdah, repository, startHowdah } from '#test/e2e/howdah.ts'
import { withCleanup } from './cleanup.ts'

export type Bench = {
  pid: number
  url: string
  token: string
  project_id: string
  data_dir: string
  createService(name: string, more?: object): Promise<Service>
  forkService(service_id: string, input: object): Promise<Service>
  post(service_id: string, verb: 'start' | 'stop' | 'rewind' | 'undoRewind', body?: object): Promise<void>
  /** Brings a deleted service back. */
  restore(service_id: string): Promise<void>
  remove(service_id: string): Promise<void>
  /** Polls every 10 ms, as an eager client would; or lets the server answer when there is something to say. */
  waitFor(service_id: string, status: Service['status'] | 'removed', how?: 'polling' | 'waiting'): Promise<void>
}

const poll_ms = 10
const deadline_seconds = 120
const at_once = 8

export async function withHowdah<T>(
  data_dir: string,
  work: (bench: Bench) => Promise<T>,
  env: NodeJS.ProcessEnv = {},
  undelete = '0',
): Promise<T> {
  // Where the first start leaves a login.
  const config_home = `${data_dir}-config`
  const undo = () => {
    const words = ['stop', '--all', '--data-dir', data_dir]
    execFileSync(join(repository, 'bin/howdah'), words, { env: { ...process.env, ...env }, stdio: 'ignore' })
    for (const folder of [data_dir, config_home]) rmSync(folder, { recursive: true, force: true })
  }
  return await withCleanup(undo, async () => {
    // A bench sends more than any client should; what the limits cost is measured by bench/auth.ts.
    // And what it deletes is to be gone, unless it is to come back.
    const words = ['--data-dir', data_dir, '--rate-limit', '0', '--undelete', undelete]
    const server = await startHowdah(words, { XDG_CONFIG_HOME: config_home, ...env })
    const made = await howdah(['admin', 'token', 'create', '--name', 'bench', '--data-dir', data_dir], env)
    return await work(await newBench(server.pid, server.url, made.stdout.trim(), data_dir))
  })
}

/** Small ones, a few at a time. */
export async function createMany(bench: Bench, count: number): Promise<Service[]> {
  const made: Service[] = []
  while (made.length < count) {
    const names = Array.from({ length: Math.min(at_once, count - made.length) }, (_, at) => `many ${made.length + at}`)
    const created = await Promise.all(names.map((name) => bench.createService(name, { cpu_millis: 'shared' })))
    for (const { service_id } of created) await bench.waitFor(service_id, 'READY', 'waiting')
    made.push(...created)
  }
  return made
}

async function newBench(pid: number, url: string, token: string, data_dir: string): Promise<Bench> {
  const projects = await call<{ id: string }[]>(token, 'GET', `${url}/projects`)
  const project_id = projects?.[0]?.id
  if (project_id === undefined) throw new Error('the installation has no project')
  const services = `${url}/projects/${project_id}/services`
  return {
    pid,
    url,
    token,
    project_id,
    data_dir,
    createService: (name, more = {}) => madeBy(call<Service>(token, 'POST', services, { name, ...more })),
    forkService: (service_id, input) =>
      madeBy(call<Service>(token, 'POST', `${services}/${service_id}/forkService`, input)),
    post: async (service_id, verb, body) => void (await call(token, 'POST', `${services}/${service_id}/${verb}`, body)),
    restore: async (service_id) =>
      void (await call(token, 'POST', `${url}/projects/${project_id}/deletedServices/${service_id}/restore`)),
    remove: async (service_id) => void (await call(token, 'DELETE', `${services}/${service_id}`)),
    waitFor: async (service_id, status, how = 'polling') => {
      const headers = how === 'waiting' ? { prefer: `wait=${wait_seconds_max}` } : {}
      const deadline = performance.now() + deadline_seconds * 1000
      for (;;) {
        const answer = await call<Service>(token, 'GET', `${services}/${service_id}`, undefined, headers)
        const seen = answer?.status ?? 'removed'
        if (seen === status) return
        if (performance.now() > deadline) throw new Error(`${service_id} is ${seen}, not ${status}`)
        await pause(poll_ms)
      }
    },
  }
}

async function madeBy(answer: Promise<Service | undefined>): Promise<Service> {
  const made = await answer
  if (made === undefined) throw new Error('the answer has no service')
  return made
}

async function call<T>(
  token: string,
  method: string,
  url: string,
  body?: object,
  more: Readonly<Record<string, string>> = {},
): Promise<T | undefined> {
  const headers: Record<string, string> = { authorization: `Bearer ${token}`, ...more }
  if (body !== undefined) headers['content-type'] = 'application/json'
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  const text = await answer.text()
  if (answer.status === 404 && method === 'GET') return undefined
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${text}`)
  // The server's answers are checked against the contract by its tests; a bench believes them.
  return text === '' ? undefined : (JSON.parse(text) as T)
}
