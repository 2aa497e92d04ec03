// Deleted services on this machine: their processes end at once, their files stay until they are purged or restored, and what expires leaves
// nothing. The server is killed in the middle of each: the next one goes on.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { removeDataDir } from '#test/data-dir.ts'
import { ask } from '#test/database.ts'
import type { ReadyService } from '#test/installation.ts'
import { newServicePorts } from '#test/ports.ts'
import { newSeededDataDir } from '#test/seed.ts'
import { type ServerProcess, startServerProcess } from '#test/server-process.ts'
import { listPostmasters, orphansOf } from '#test/traces.ts'
import { until } from '#test/until.ts'

const data_dir = await newSeededDataDir()
const options = { data_dir, service_ports: newServicePorts(), flags: ['--undelete', '1h'] }
let server: ServerProcess | undefined

afterAll(async () => {
  await server?.end()
  await removeDataDir(data_dir)
})

test('a deleted service comes back with its endpoint, password and data, wherever the server is killed; purged, nothing is left', async () => {
  server = await startServerProcess(options)
  const token = server.first_token ?? ''
  const services = `/projects/${server.project_id}/services`
  const call = (method: string, path: string, body?: object) => {
    if (server === undefined) throw new Error('no server runs')
    return server.callWith(token)(method, path, body)
  }
  const untilStatus = (service_id: string, status: string | number) =>
    until(async () => {
      const answer = await call('GET', `${services}/${service_id}`)
      return (answer.body.status === status || answer.status === status) && answer.body
    })
  const newService = async () => {
    const { body } = await call('POST', services, { name: 'slip', cpu_millis: 'shared' })
    await untilStatus(body.service_id, 'READY')
    return body as ReadyService // the contract's own answer to a create
  }
  /** Sends the request; right before that effect of it the server dies, and another one starts. The answer may be lost. */
  const sendKilledAt = async (effect: string, method: string, path: string, success: number) => {
    await server?.killAt(effect, 1)
    const status = await call(method, path).then(
      (answer) => answer.status,
      () => 'lost',
    )
    expect([success, 'lost']).toContain(status)
    await server?.ended
    server = await startServerProcess(options)
  }

  const service = await newService()
  const { service_id, initial_password } = service
  const deleted = `/projects/${server.project_id}/deletedServices/${service_id}`
  const query = (sql: string) => ask(server?.api_url ?? '', service, initial_password, sql)
  await query('create table kept as select 42 as answer')
  const session = query('select pg_sleep(3600)').catch((error: unknown) => error)

  await sendKilledAt('postmaster: SIGINT', 'DELETE', `${services}/${service_id}`, 202)
  await untilStatus(service_id, 404)
  expect(listPostmasters(data_dir, service_id)).toEqual([])
  expect(await session).toBeInstanceOf(Error)
  expect(existsSync(join(data_dir, 'local', 'services', service_id, 'data'))).toBe(true)
  const other = await newService()
  expect(other.endpoint).not.toEqual(service.endpoint)

  await sendKilledAt('postmaster: spawn', 'POST', `${deleted}/restore`, 202)
  const restored = await untilStatus(service_id, 'READY')
  expect(restored.endpoint).toEqual(service.endpoint)
  expect(await query('select answer from kept')).toEqual(['42'])

  await call('DELETE', `${services}/${service_id}`)
  await untilStatus(service_id, 404)
  await sendKilledAt('home: rename away', 'POST', `${deleted}/purge`, 204)
  await until(() => orphansOf(data_dir, [other.service_id]).length === 0)

  await until(async () => {
    const expires_at = new Date(Date.now() + 1000).toISOString()
    return (await call('POST', `${services}/${other.service_id}/setExpiry`, { expires_at })).status === 200
  })
  await untilStatus(other.service_id, 404)
  expect(orphansOf(data_dir, [])).toEqual([])
})
