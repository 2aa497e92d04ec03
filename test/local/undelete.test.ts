// Deleted services on this machine: their processes end at once, their files stay until they are purged or restored, and what expires leaves
// nothing. The server is restarted in between: what was begun goes on.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask } from '#test/database.ts'
import { startInstallation, type TestInstallation } from '#test/installation.ts'
import { listPostmasters, orphansOf } from '#test/traces.ts'
import { until } from '#test/until.ts'

let howdah: TestInstallation

beforeAll(async () => {
  howdah = await startInstallation({ config: { undelete: 3600 } })
})

afterAll(() => howdah?.stop())

const filesOf = (service_id: string) => join(howdah.config.data_dir, 'local', 'services', service_id, 'data')

test('a deleted service comes back with its endpoint, password and data; purged, nothing of it is left', async () => {
  const service = await howdah.createService({ cpu_millis: 'shared' })
  const { service_id, initial_password } = service
  const { data_dir } = howdah.config
  const deleted = `/projects/${howdah.project_id}/deletedServices/${service_id}`
  const query = (sql: string) => ask(howdah.server.api_url, service, initial_password, sql)
  await query('create table kept as select 42 as answer')
  const session = query('select pg_sleep(3600)').catch((error: unknown) => error)

  await howdah.call('DELETE', `${howdah.services}/${service_id}`)
  await howdah.restart()
  await howdah.untilStatus(service_id, 'removed')
  expect(listPostmasters(data_dir, service_id)).toEqual([])
  expect(await session).toBeInstanceOf(Error)
  expect(existsSync(filesOf(service_id))).toBe(true)
  const other = await howdah.createService({ cpu_millis: 'shared' })
  expect(other.endpoint).not.toEqual(service.endpoint)

  expect((await howdah.call('POST', `${deleted}/restore`)).status).toBe(202)
  await howdah.restart()
  const { body } = await howdah.untilStatus(service_id, 'READY')
  expect(body.endpoint).toEqual(service.endpoint)
  expect(await query('select answer from kept')).toEqual(['42'])

  await howdah.call('DELETE', `${howdah.services}/${service_id}`)
  await howdah.untilStatus(service_id, 'removed')
  expect((await howdah.call('POST', `${deleted}/purge`)).status).toBe(204)
  await until(() => orphansOf(data_dir, [other.service_id]).length === 0)

  const expires_at = new Date(Date.now() + 1000).toISOString()
  await howdah.call('POST', `${howdah.services}/${other.service_id}/setExpiry`, { expires_at })
  await howdah.untilStatus(other.service_id, 'removed')
  expect(orphansOf(data_dir, [])).toEqual([])
})
