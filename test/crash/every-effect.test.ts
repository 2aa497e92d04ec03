// kill -9 of the server right before effects of every verb, and a new server after it: the end is always the one of an
// undisturbed run, and nothing is orphaned. A sample in each run, all with `npm test -- --all`; test/provider/every-effect.test.ts
// dies at each of them without a kill. Each verb runs undisturbed once to learn its effects. An effect is named by its name and
// its how-manieth, because effects of independent steps may change places between two runs. One data directory serves all: only
// the server dies.
import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Answer, ServiceOrFault } from '#test/call.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { ask, storeUrlOf } from '#test/database.ts'
import type { ReadyService } from '#test/installation.ts'
import { sampleOf } from '#test/sample.ts'
import { type ServerProcess, startServerProcess } from '#test/server-process.ts'
import { cpuLimitMillis, listPostmasters, orphansOf } from '#test/traces.ts'
import { until } from '#test/until.ts'

const data_dir = newDataDir()
const service_ports = newServicePorts()
/** Some 50 starts of a server, on a machine that may be very busy. */
const timeout = 900_000

const kills_of_each = 1

let server: ServerProcess
let token: string
let services: string

beforeAll(async () => {
  await revive()
  token = server.first_token ?? ''
  services = `/projects/${server.project_id}/services`
})

afterAll(() => removeDataDir(data_dir))

test('a first start that is killed anywhere ends with one whole template', { timeout }, async () => {
  const templates = join(data_dir, 'local', 'templates')
  const built = () => readdirSync(templates).filter((name) => !name.includes('.making-'))
  await until(() => built().length === 1, { what: 'the template is built' })
  await server.killAt('none', 1)
  const effects = [...new Set(server.effects)].filter((name) => name.startsWith('template: '))
  await server.end()
  await rm(templates, { recursive: true })
  for (const effect of sampleOf(effects, kills_of_each)) {
    // It may die before it serves, or after. What it left is the beginning of the next one.
    const doomed = await startServerProcess({ data_dir, service_ports, kill_at_effect: effect }).catch(() => undefined)
    if (doomed !== undefined) await untilEnded(doomed, effect)
    expect(built()).toEqual([])
  }
  await revive()
  await until(() => built().length === 1, { what: 'the template is built after all' })
  expectInOrder([], { running: false })
  await remove(await newService())
})

test(
  'the template of an earlier version goes, wherever the server that removes it is killed',
  { timeout },
  async () => {
    const templates = join(data_dir, 'local', 'templates')
    const old = '18.0-1'
    const isThere = () => readdirSync(templates).some((name) => name.startsWith(old))
    await server.end()
    const others = readdirSync(templates)
    for (const effect of sampleOf(['old template: rename away', 'old template: remove'], 1)) {
      await mkdir(join(templates, old, 'base'), { recursive: true })
      const doomed = await startServerProcess({ data_dir, service_ports, kill_at_effect: effect }).catch(
        () => undefined,
      )
      if (doomed !== undefined) await untilEnded(doomed, effect)
      expect(isThere()).toBe(true)
    }
    await revive()
    await until(() => !isThere(), { what: 'the old template is removed' })
    expect(readdirSync(templates)).toEqual(others)
  },
)

test(
  'a create that is killed anywhere ends with one service that serves, and a delete leaves nothing',
  { timeout },
  async () => {
    let key = ''
    let service: ReadyService
    await killAtEveryEffect(
      {
        request: () => {
          key = randomUUID()
          return create(key)
        },
        check: async () => {
          service = await getCreated(key)
          expect(await query(service, 'select current_user')).toEqual(['tsdbadmin'])
          expectInOrder([service.service_id], { running: true })
          expectLimit(service, 500)
        },
      },
      {
        request: () => call('DELETE', `${services}/${service.service_id}`),
        check: async () => {
          await untilStatus(service.service_id, 'removed')
          expectInOrder([], { running: false })
        },
      },
    )
  },
)

test(
  'resize, stop and start that are killed anywhere end as if they were not, with the data',
  { timeout },
  async () => {
    const service = await newService()
    const at = `${services}/${service.service_id}`
    await query(service, 'create table kept (word text)')
    await query(service, `insert into kept values ('kept')`)
    let memory_gbs = 2
    const expectServing = async () => {
      await untilStatus(service.service_id, 'READY')
      expectInOrder([service.service_id], { running: true })
      expect(await query(service, 'select word from kept')).toEqual(['kept'])
      expect(await query(service, 'show shared_buffers')).toEqual([memory_gbs === 2 ? '512MB' : '1GB'])
      expectLimit(service, memory_gbs * 250)
    }
    await killAtEveryEffect(
      {
        request: () => {
          memory_gbs = memory_gbs === 2 ? 4 : 2
          return call('POST', `${at}/resize`, { cpu_millis: String(memory_gbs * 250), memory_gbs: String(memory_gbs) })
        },
        check: expectServing,
      },
      {
        request: () => call('POST', `${at}/stop`),
        check: async () => {
          await untilStatus(service.service_id, 'PAUSED')
          expectInOrder([service.service_id], { running: false })
        },
      },
      { request: () => call('POST', `${at}/start`), check: expectServing },
    )
    await remove(service)
  },
)

type Verb = {
  request: () => Promise<Answer<ServiceOrFault>>
  /** The end state, from which the next verb goes on. */
  check: () => Promise<void>
}

/**
 * The verbs follow each other, and the first one can follow the last: a round kills each of them at its next effect, so that
 * no run of a verb only prepares that of another.
 */
async function killAtEveryEffect(...verbs: readonly Verb[]): Promise<void> {
  const doomed: Doom[][] = []
  for (const { request, check } of verbs) {
    const effects = await effectsOf(request)
    expect(effects).not.toEqual([])
    doomed.push(sampleOf(effects.map(doomOf), kills_of_each))
    await check()
  }
  for (let round = 0; round < Math.max(...doomed.map((some) => some.length)); round += 1) {
    for (const [at, verb] of verbs.entries()) await killAtEffect(verb, doomed[at]?.[round])
  }
}

type Doom = { effect: string; nth: number }

const doomOf = (effect: string, at: number, effects: readonly string[]): Doom => ({
  effect,
  nth: effects.slice(0, at + 1).filter((name) => name === effect).length,
})

/** Undisturbed where there is no such effect any more. */
async function killAtEffect({ request, check }: Verb, doom: Doom | undefined): Promise<void> {
  if (doom) {
    await untilQuiet()
    await server.killAt(doom.effect, doom.nth)
  }
  // The answer may be lost with the server; the intent is not.
  await Promise.allSettled([request()])
  if (doom && (await isKilled(doom.effect))) {
    await revive()
    // Background work is finished then, too.
    await untilQuiet()
  }
  await check().catch((error: unknown) => {
    throw new Error(`after a kill at: ${doom?.effect} (${doom?.nth})`, { cause: error })
  })
}

async function effectsOf(request: Verb['request']): Promise<string[]> {
  await untilQuiet()
  await server.killAt('none', 1)
  const before = server.effects.length
  expect((await request()).status).toBe(202)
  await untilQuiet()
  await server.killAt('none', 1)
  return server.effects.slice(before)
}

/** What is done only when processes end, or archive, at a certain moment; another run may not meet it. */
const by_chance = [
  'leftover processes: kill',
  'stale pid file: remove',
  'stale socket lock: remove',
  'archive: give back space',
  'archived WAL: remove',
]

async function isKilled(effect: string): Promise<boolean> {
  if (!by_chance.includes(effect)) {
    await untilEnded(server, effect)
    return true
  }
  return Promise.race([server.ended.then(() => true), untilQuiet().then(() => false)])
}

async function untilEnded(one: ServerProcess, effect: string): Promise<void> {
  let ended = false
  void one.ended.then(() => {
    ended = true
  })
  await until(() => ended, { what: `the server is killed at: ${effect}` })
}

async function revive(): Promise<void> {
  server = await startServerProcess({ data_dir, service_ports })
}

/** No pass is under way, and none is due: what is counted from here on belongs to the next request. */
async function untilQuiet(): Promise<void> {
  const store = new pg.Client(storeUrlOf(data_dir))
  await store.connect()
  try {
    await until(async () => {
      const { rowCount } = await store.query(
        `select from work where due_at <= now() + interval '5 seconds' or lease_token is not null`,
      )
      return rowCount === 0
    })
  } finally {
    await store.end()
  }
}

function call(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
  return server.callWith(token)(method, path, body, headers)
}

const create = (key: string) => call('POST', services, { name: 'test' }, { 'idempotency-key': key })

/** The service of a create whose answer may have been lost: the same key gives the same answer, password and all. */
async function getCreated(key: string): Promise<ReadyService> {
  const { status, body } = await create(key)
  expect(status).toBe(202)
  await untilStatus(body.service_id, 'READY')
  return body as ReadyService // the contract's own answer to a create
}

async function newService(): Promise<ReadyService> {
  return getCreated(randomUUID())
}

async function remove({ service_id }: ReadyService): Promise<void> {
  await call('DELETE', `${services}/${service_id}`)
  await untilStatus(service_id, 'removed')
}

const untilStatus = (service_id: string, wanted: string) =>
  until(
    async () => {
      const { status, body } = await call('GET', `${services}/${service_id}`)
      return wanted === 'removed' ? status === 404 : body.status === wanted
    },
    { what: `service ${service_id} is ${wanted}` },
  )

const query = (service: ReadyService, sql: string) => ask(server.api_url, service, service.initial_password, sql)

function expectInOrder(service_ids: readonly string[], { running }: { running: boolean }): void {
  expect(orphansOf(data_dir, service_ids)).toEqual([])
  for (const service_id of service_ids) {
    expect(listPostmasters(data_dir, service_id)).toHaveLength(running ? 1 : 0)
  }
}

/** Where the host enforces limits, they are the size's own. */
function expectLimit({ service_id }: ReadyService, cpu_millis: number): void {
  expect([undefined, cpu_millis]).toContain(cpuLimitMillis(data_dir, service_id))
}
