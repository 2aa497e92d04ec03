// kill -9 of the server right before effects of a fork, and a new server after it: a sample in each run, all with `npm test -- --all`;
// test/fork/every-effect.test.ts dies at each of them without a kill. The fork runs undisturbed once to learn its effects, of which
// the test chooses those that are not another test's already. Only the server dies.
// A fork is killed at every third of them, so that each new server gets somewhere before it dies too.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect } from 'vitest'
import { removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { ask, storeUrlOf } from '#test/database.ts'
import type { ReadyService } from '#test/installation.ts'
import { sampleOf } from '#test/sample.ts'
import { newSeededDataDir } from '#test/seed.ts'
import { type ServerProcess, startServerProcess } from '#test/server-process.ts'
import { listPostmasters, orphansOf } from '#test/traces.ts'
import { until } from '#test/until.ts'
import type { ForkInput } from './family.ts'

const forks = 3
const kills = 1

export type Killing = Awaited<ReturnType<typeof startKilling>>

export async function startKilling() {
  const data_dir = await newSeededDataDir()
  const service_ports = newServicePorts()
  const revive = (kill_at_effect?: string) =>
    startServerProcess({ data_dir, service_ports, ...(kill_at_effect !== undefined && { kill_at_effect }) })
  let server: ServerProcess = await revive()
  const token = server.first_token ?? ''
  const services = `/projects/${server.project_id}/services`

  const call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    server.callWith(token)(method, services + path, body, headers)

  const untilStatus = (service_id: string, wanted: string) =>
    until(
      async () => {
        const { status, body } = await call('GET', `/${service_id}`)
        return wanted === 'removed' ? status === 404 : body.status === wanted
      },
      { what: `service ${service_id} is ${wanted}` },
    )

  /** The same key gives the same answer, password and all, also when the first one was lost with the server. */
  const request = async (path: string, body: object, key: string): Promise<ReadyService> => {
    const answer = await call('POST', path, body, { 'idempotency-key': key })
    expect(answer.status).toBe(202)
    return answer.body as ReadyService // the contract's own answer to a create or a fork
  }

  const made = async (path: string, body: object, key: string = randomUUID()): Promise<ReadyService> => {
    const service = await request(path, body, key)
    await untilStatus(service.service_id, 'READY')
    return service
  }

  const remove = async ({ service_id }: ReadyService) => {
    await call('DELETE', `/${service_id}`)
    await untilStatus(service_id, 'removed')
  }

  const untilQuiet = () => until(() => isQuiet(data_dir), { interval_ms: 100, what: 'nothing is due' })

  const query = (service: ReadyService, sql: string) => ask(server.api_url, service, service.initial_password, sql)

  const killAtEvery = async (
    parent: ReadyService,
    input: ForkInput,
    chosen: RegExp,
    check: (child: ReadyService) => Promise<void>,
  ) => {
    const path = `/${parent.service_id}/forkService`
    const checkAndRemove = async (key: string) => {
      const child = await made(path, input, key)
      await check(child)
      expect(listPostmasters(data_dir, child.service_id)).toHaveLength(1)
      await remove(child)
      await until(() => orphansOf(data_dir, [parent.service_id]).length === 0, {
        interval_ms: 200,
        what: 'nothing is left of it',
      })
    }
    /** The fork is there and all work is done: a server that still lives has not come by the effect. */
    const isMade = async () => {
      const answer = await call('GET', '')
      const body = answer.body as unknown as { status: string }[] // the contract's own answer to a list
      return body.length === 2 && body.every(({ status }) => status === 'READY') && (await isQuiet(data_dir))
    }
    const effects = await learnEffects(chosen, () => made(path, input, 'learning'))
    await checkAndRemove('learning')
    await untilQuiet()
    const doomed = sampleOf(effects, kills)
    for (let first = 0; first < Math.min(forks, doomed.length); first++) {
      let key = ''
      for (const effect of doomed.filter((_, index) => index % forks === first)) {
        if (key !== '' && (await diesAgain(effect, isMade))) continue
        if (key !== '') {
          server = await revive()
          await checkAndRemove(key)
          await untilQuiet()
        }
        key = randomUUID()
        await server.killAt(effect, 1)
        // The answer may be lost with the server; the intent is not.
        await Promise.allSettled([request(path, input, key)])
        await endOf(server, () => false, effect)
      }
      server = await revive()
      await checkAndRemove(key)
      await untilQuiet()
    }
    return effects
  }

  /** A new server goes on with the fork and dies at the effect; false when it came to the end without it. */
  const diesAgain = async (effect: string, isMade: () => Promise<boolean>): Promise<boolean> => {
    // It may come that far before it serves.
    const next = await revive(effect).catch(() => undefined)
    if (next === undefined) return true
    server = next
    const end = await endOf(server, isMade, effect)
    await server.end()
    return end === 'killed'
  }

  const learnEffects = async (chosen: RegExp, act: () => Promise<unknown>) => {
    await untilQuiet()
    const before = server.effects.length
    await act()
    await untilQuiet()
    await server.killAt('none', 1)
    return [...new Set(server.effects.slice(before))].filter((name) => chosen.test(name))
  }

  return { made, query, untilQuiet, killAtEvery, stop: () => removeDataDir(data_dir) }
}

/** No pass is under way, and none is due: what is counted from here on belongs to the next request. */
async function isQuiet(data_dir: string): Promise<boolean> {
  const store = new pg.Client(storeUrlOf(data_dir))
  await store.connect()
  try {
    const busy = `select from work where due_at <= now() + interval '5 seconds' or lease_token is not null`
    return (await store.query(busy)).rowCount === 0
  } finally {
    await store.end()
  }
}

async function endOf(server: ServerProcess, isMade: () => Promise<boolean> | boolean, effect: string) {
  let over = false
  void server.ended.then(() => {
    over = true
  })
  const poll = async () => (over ? 'killed' : (await isMade()) && 'made')
  return await until(poll, { what: `the server is killed at: ${effect}` })
}
