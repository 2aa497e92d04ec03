// kill -9 of the server right before every effect of a fork, and a new server after it. The fork runs undisturbed once to
// learn its effects, of which the test chooses those that are not another test's already. Only the server dies.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect } from 'vitest'
import { newDataDir, newServicePorts, removeDataDir } from '#test/data-dir.ts'
import { ask, storeUrlOf } from '#test/database.ts'
import type { ReadyService } from '#test/installation.ts'
import { type ServerProcess, startServerProcess } from '#test/server-process.ts'
import { listPostmasters, orphansOf } from '#test/traces.ts'
import { until } from '#test/until.ts'
import type { ForkInput } from './family.ts'

export type Killing = Awaited<ReturnType<typeof startKilling>>

export async function startKilling() {
  const data_dir = newDataDir()
  const service_ports = newServicePorts()
  const revive = () => startServerProcess({ data_dir, service_ports })
  let server: ServerProcess = await revive()
  const token = server.first_token ?? ''
  const services = `/projects/${server.project_id}/services`

  const call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    server.callWith(token)(method, services + path, body, headers)

  const untilStatus = (service_id: string, wanted: string) =>
    until(
      async () => {
        const { status, body } = await call('GET', `/${service_id}`)
        return wanted === 'gone' ? status === 404 : body.status === wanted
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
    await untilStatus(service_id, 'gone')
  }

  /** Nobody is at work, and nothing is due: what is counted from here on belongs to the next request. */
  const untilQuiet = async () => {
    const store = new pg.Client(storeUrlOf(data_dir))
    await store.connect()
    try {
      const busy = `select from work where due_at <= now() + interval '5 seconds' or lease_token is not null`
      await until(async () => (await store.query(busy)).rowCount === 0, { what: 'nothing is due' })
    } finally {
      await store.end()
    }
  }

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
      await until(() => orphansOf(data_dir, [parent.service_id]).length === 0, { what: 'nothing is left of it' })
    }
    await untilQuiet()
    const before = server.effects.length
    const first = randomUUID()
    await made(path, input, first)
    await untilQuiet()
    await server.killAt('none', 1)
    const effects = [...new Set(server.effects.slice(before))].filter((name) => chosen.test(name))
    await checkAndRemove(first)
    for (const effect of effects) {
      const key = randomUUID()
      await untilQuiet()
      await server.killAt(effect, 1)
      // The answer may be lost with the server; the intent is not.
      await Promise.allSettled([request(path, input, key)])
      await within(server.ended, `the server is killed at: ${effect}`)
      server = await revive()
      await checkAndRemove(key).catch((error: unknown) => {
        throw new Error(`after a kill at: ${effect}`, { cause: error })
      })
    }
    return effects
  }

  return { made, query, untilQuiet, killAtEvery, stop: () => removeDataDir(data_dir) }
}

async function within(promise: Promise<void>, what: string): Promise<void> {
  let over = false
  void promise.then(() => {
    over = true
  })
  await until(() => over, { what })
}
