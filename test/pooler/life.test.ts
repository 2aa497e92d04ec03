// The life of a pooler: it comes back when it ends, outlives the server, stands still while PostgreSQL restarts, and leaves
// nothing behind.
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect } from 'vitest'
import { noProcessBelow, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { askThrough, loginThrough, newPooled, poolerPid, poolerTest, type Pooled } from './pooled.ts'

const { newWorld } = useWorlds()

const transactions = { database: 'tsdb_transaction' }

poolerTest('a pooler that is killed comes back, and one whose server ended serves on and is found again', async () => {
  const world = await newWorld()
  const { provider, wanted } = await newPooled(world)
  const killed = await poolerPid(world, wanted)
  const noticed = new Promise<string>((resolve) => provider.watch((_, id) => resolve(id)))
  process.kill(killed, 'SIGKILL')
  expect(await noticed).toBe(wanted.service_id)
  const { events } = await settle(provider, wanted)
  expect(events.map(({ message }) => message)).toContain('the connection pooler died and was started again')
  expect(await askThrough({ provider, wanted }, 'select 7')).toBe('7')

  const pid = await poolerPid(world, wanted)
  const client = await loginThrough({ provider, wanted })
  await provider.close()
  expect((await client.query('select 8 as n')).rows).toEqual([{ n: 8 }])
  const next = await world.open()
  expect((await settle(next, wanted)).events).toEqual([])
  expect(await poolerPid(world, wanted)).toBe(pid)
  expect((await client.query('select 9 as n')).rows).toEqual([{ n: 9 }])
  await client.end()
})

poolerTest('a pooler that stands still (SIGSTOP) is started again', async () => {
  const world = await newWorld()
  const { provider, wanted } = await newPooled(world)
  process.kill(await poolerPid(world, wanted), 'SIGSTOP')
  const { events } = await settle(provider, wanted)
  expect(events.map(({ kind }) => kind)).toEqual(['restarted'])
  expect(await askThrough({ provider, wanted }, 'select 7')).toBe('7')
})

poolerTest('a pooler whose port is taken waits for it, and its service serves meanwhile', async () => {
  const world = await newWorld()
  const { provider, wanted } = await newPooled(world)
  const { pooler, ...without } = wanted
  await settle(provider, { ...without, generation: 2 })
  const other = createServer().listen(pooler)
  await once(other, 'listening')
  expect(await provider.service.apply({ ...wanted, generation: 3 })).toMatchObject({
    state: 'serving',
    settled: false,
    waiting_for: expect.stringContaining(`port ${pooler.port} on ${pooler.host} is in use by another program`),
  })
  other.close()
  await once(other, 'close')
  await settle(provider, { ...wanted, generation: 3 })
  expect(await askThrough({ provider, wanted }, 'select 7')).toBe('7')
})

poolerTest('a pooler goes with its service, and is where it was when it is on again', async () => {
  const world = await newWorld()
  const pooled = await newPooled(world)
  const { provider, wanted } = pooled
  const { pooler: _, ...without } = wanted
  await settle(provider, { ...without, generation: 2 })
  await expectNoPooler(pooled)
  await settle(provider, { ...wanted, generation: 3 })
  expect(await askThrough(pooled, 'select 7')).toBe('7')

  await settle(provider, { ...wanted, generation: 4, power: 'off' })
  await expectNoPooler(pooled)
  await noProcessBelow(world.directory)
  await settle(provider, { ...wanted, generation: 5 })
  expect(await askThrough(pooled, 'select 8')).toBe('8')

  await settle(provider, { ...wanted, generation: 6, deleted: true })
  await expectNoPooler(pooled)
  expect(readdirSync(join(world.directory, 'services'))).toEqual([])
})

poolerTest('a restart of PostgreSQL is a pause for clients that are pooled by transaction', async () => {
  const pooled = await newPooled(await newWorld())
  const { provider, wanted, world } = pooled
  const client = await loginThrough(pooled, transactions)
  const backend = 'select pg_backend_pid() as pid, pg_postmaster_start_time() as started'
  const [before] = (await client.query<{ pid: number; started: Date }>(backend)).rows
  // Nearly always in the middle of a query, which must not fail.
  const restarted = new AbortController()
  const asking = (async () => {
    while (!restarted.signal.aborted) await client.query('select pg_sleep(0.02)')
    return 'all answered'
  })().catch(String)
  const pid = await poolerPid(world, wanted)
  await settle(provider, { ...wanted, generation: 2, size: { cpu_millis: 500, memory_gbs: 2 } })
  restarted.abort()
  expect(await asking).toBe('all answered')
  const [after] = (await client.query<{ pid: number; started: Date }>(backend)).rows
  expect(after?.started).not.toEqual(before?.started)
  expect(await poolerPid(world, wanted)).toBe(pid)
  // The limits are those of the new size.
  expect(await askThrough(pooled, 'show max_connections')).toBe('100')
  await client.end()
})

poolerTest('switching it on or off that dies at any effect is finished by the next pass', async () => {
  const world = await newWorld()
  const { provider, wanted } = await newPooled(world)
  const { pooler: _, ...without } = wanted
  let effects_left = Infinity
  let cut_off_at: string | undefined
  const effect = (name: string) => {
    if (!name.startsWith('pooler') || --effects_left > 0) return
    cut_off_at = name
    throw new Error(`dies before ${name}`)
  }
  const dying = await world.open({ effect })
  for (const spec of [without, wanted]) {
    const other = spec === wanted ? without : wanted
    for (let nth = 1; ; nth++) {
      await settle(provider, other)
      cut_off_at = undefined
      effects_left = nth
      await dying.service.apply(spec).catch(() => undefined)
      await settle(provider, spec)
      if (spec === wanted) expect(await askThrough({ provider, wanted }, 'select 7'), cut_off_at).toBe('7')
      else await expectNoPooler({ world, wanted })
      if (cut_off_at === undefined) break
      expect(nth).toBeLessThan(50)
    }
  }
})

async function expectNoPooler({ world, wanted }: Pick<Pooled, 'world' | 'wanted'>): Promise<void> {
  const home = join(world.directory, 'services', wanted.service_id)
  await expect(poolerPid(world, wanted)).rejects.toThrow(/ENOENT/)
  expect(existsSync(home) ? readdirSync(home).filter((name) => name.startsWith('pooler')) : []).toEqual([])
}
