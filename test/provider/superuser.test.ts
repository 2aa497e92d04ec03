// The control plane's own sessions at a service end, whatever the server does meanwhile: a pass that waited for one would
// never come to the point of replacing a primary that stands still.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findPosition } from '#providers/local/ha/position.ts'
import { nodeOf } from '#providers/local/host/layout.ts'
import { StandsStill } from '#providers/local/postgres/standstill.ts'
import { withSuperuser } from '#providers/local/postgres/superuser.ts'
import { listenInPlaceOf } from './impostor.ts'
import { as_root, settle, useWorlds } from './service-fixture.ts'

const { newService } = useWorlds()

/** A service that serves. */
async function newServing() {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  return { provider, wanted, node: nodeOf(world.directory, wanted.service_id, wanted.home.port, as_root) }
}

test('a session whose server stands still is left, not waited for', async () => {
  const { node } = await newServing()
  let stopped = 0
  try {
    const answer = await withSuperuser(node, {}, async (client) => {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      stopped = rows[0]?.pid ?? 0
      process.kill(stopped, 'SIGSTOP')
      return 'what was asked for'
    })
    expect(answer).toBe('what was asked for')
  } finally {
    process.kill(stopped, 'SIGCONT')
  }
})

test('a session with a stopped server fails, a pass reports it, and it serves again when it is continued', async () => {
  const { provider, wanted, node } = await newServing()
  const postmaster = Number.parseInt(readFileSync(join(node.data, 'postmaster.pid'), 'utf8'))
  const backends: number[] = []
  const asking = withSuperuser(node, { statement_timeout_ms: 600_000 }, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    backends.push(...rows.map(({ pid }) => pid))
    for (const pid of [postmaster, ...backends]) process.kill(pid, 'SIGSTOP')
    await client.query('select 1')
  })
  try {
    await expect(asking).rejects.toThrow(StandsStill)
    await expect(withSuperuser(node, {}, (client) => client.query('select 1'))).rejects.toThrow(StandsStill)
    const observed = await provider.service.apply(wanted)
    expect(observed).toMatchObject({ state: 'not_serving', settled: false, waiting_for: new StandsStill().message })
  } finally {
    for (const pid of [postmaster, ...backends]) process.kill(pid, 'SIGCONT')
  }
  await settle(provider, wanted)
})

test('what the environment says of other servers counts in no session with a service', async () => {
  setEnvironment({ PGSSLMODE: 'require', PGSSLNEGOTIATION: 'direct', PGPASSWORD: 'of the store' })
  const { provider, wanted } = await newServing()
  expect(await provider.service.query(wanted.service_id, select_one)).toMatchObject({ rows: [['1']] })
})

test('a query of a server that does not run is told no path of this machine', async () => {
  const { provider, wanted } = await newServing()
  await settle(provider, { ...wanted, power: 'off', generation: 2 })
  expect(await provider.service.query(wanted.service_id, select_one)).toEqual({
    unavailable: 'its server takes no query now: it does not answer',
  })
})

test('a program that listens in the place of a server is told no password of the environment', async () => {
  const { provider, wanted, node } = await newServing()
  await settle(provider, { ...wanted, generation: wanted.generation + 1, power: 'off' })
  const heard: string[] = []
  await listenInPlaceOf(node, (socket) => {
    // AuthenticationCleartextPassword, whatever comes.
    socket.on(
      'data',
      (bytes) => heard.push(bytes.toString()) && socket.write(Buffer.from('R\0\0\0\x08\0\0\0\x03', 'latin1')),
    )
  })
  setEnvironment({ PGPASSWORD: 'of the store' })
  await expect(withSuperuser(node, {}, (client) => client.query('select 1'))).rejects.toThrow('asks for a password')
  expect(await findPosition(node)).toBeUndefined()
  expect(heard.length).toBeGreaterThanOrEqual(2)
  expect(heard.join()).not.toContain('of the store')
})

const select_one = {
  database: 'tsdb',
  statement: 'select 1',
  parameters: [],
  mode: 'read',
  row_limit: 1,
  timeout_seconds: 10,
  application_name: 'test',
} as const

/** Until the end of the test. */
function setEnvironment(values: Record<string, string>): void {
  Object.assign(process.env, values)
  onTestFinished(() => {
    for (const name of Object.keys(values)) delete process.env[name]
  })
}
