// The control plane's own sessions at a service end, whatever the server does meanwhile: a pass that waited for one would
// never come to the point of replacing a primary that stands still.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { nodeOf } from '#providers/local/host/layout.ts'
import { StandsStill } from '#providers/local/postgres/standstill.ts'
import { withSuperuser } from '#providers/local/postgres/superuser.ts'
import { as_root, newWanted, settle, useWorlds } from './service-fixture.ts'

const { newWorld } = useWorlds()

/** A service that serves. */
async function newServing() {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = await newWanted(provider, { size: 'shared' })
  await settle(provider, wanted)
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
