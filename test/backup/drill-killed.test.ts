// A server that is killed for real in the middle of a drill, at a sample of its effects: the next one drills again, and nothing is left.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { sampleOf } from '#test/sample.ts'
import { newSeededDataDir } from '#test/seed.ts'
import { type ServerProcess, startServerProcess } from '#test/server-process.ts'
import { until } from '#test/until.ts'

const data_dir = await newSeededDataDir()
const options = { data_dir, service_ports: newServicePorts() }
let server: ServerProcess

afterAll(async () => {
  await server?.end()
  await removeDataDir(data_dir)
})

/** Those that a service does not have in its other passes. */
const effects = ['restore: copy snapshot', 'drill: rename into place', 'home: rename away']

test('a drill whose server is killed is made again', async () => {
  server = await startServerProcess(options)
  const token = server.first_token ?? ''
  const services = `/projects/${server.project_id}/services`
  const call = (method: string, path: string, body?: object) => server.callWith(token)(method, path, body)
  const { service_id } = (await call('POST', services, { name: 'shop', cpu_millis: 'shared' })).body
  const at = `${services}/${service_id}`
  await until(async () => (await call('GET', at)).body.protection?.last_snapshot_at)
  for (const effect of sampleOf(effects, 1)) {
    const before = (await call('GET', at)).body.protection?.last_proven_restorable_at
    await server.killAt(effect, 1)
    await call('POST', `${at}/drill`)
    await server.ended
    server = await startServerProcess(options)
    const proven = async () => (await call('GET', at)).body.protection?.last_proven_restorable_at
    await until(async () => (await proven()) !== before, { what: `it is drilled after a death at: ${effect}` })
    expect(readdirSync(join(data_dir, 'local', 'drill', 'services'))).toEqual([])
  }
})
