// A primary that does not start any more is replaced, also by a replica that does not run either, unless that may lack a commit.
import { existsSync } from 'node:fs'
import { readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { signalIfThere } from '#providers/host/daemon.ts'
import { ownName } from '#providers/host/process-name.ts'
import type { WantedService } from '#providers/provider.ts'
import { ask, settle } from '#test/provider/service-fixture.ts'
import {
  dataOf,
  homeOf,
  leaveToArchive,
  makeOld,
  nodePid,
  standbysOf,
  walReceiverOf,
} from '#test/provider/standby-fixture.ts'
import { until } from '#test/until.ts'
import { kindsUntilSettled, newHa, primaryOf, wordsOf, type Ha } from './ha-fixture.ts'

test('a primary that cannot be started any more is replaced', async () => {
  const ha = await newHa(1, 1)
  const { world, provider, wanted } = ha
  await ask(provider, wanted, `insert into kept values ('kept')`)
  // It ends as if it had been told to, and has no WAL any more from which it could start.
  process.kill(await nodePid(world, wanted, 0), 'SIGINT')
  await until(async () => (await nodePid(world, wanted, 0).catch(() => 0)) === 0)
  const pg_wal = join(dataOf(world, wanted, 0), 'pg_wal')
  for (const name of await readdir(pg_wal)) if (/^[0-9A-F]{24}$/.test(name)) await rm(join(pg_wal, name))
  // Its first start failed just now, though the time of day was set forward meanwhile.
  await provider.service.apply(wanted)
  await utimes(join(homeOf(world, wanted), 'primary-down'), new Date(0), new Date(0))
  expect((await provider.service.apply(wanted)).events).toEqual([])
  await failForLong(ha)
  expect(await kindsUntilSettled(ha)).toContain('elected')
  expect(await wordsOf(ha)).toBe('kept')
  expect(await standbysOf(provider, wanted)).toEqual({ node_0: 'streaming' })
})

test('a primary that cannot be started any more is replaced by a synchronous replica that does not run either', async () => {
  const ha = await newHa(1, 1)
  const { world, provider, wanted } = ha
  await ask(provider, wanted, `insert into kept values ('kept')`)
  for (const node of [1, 0]) process.kill(await nodePid(world, wanted, node), 'SIGKILL')
  await writeFile(join(dataOf(world, wanted, 0), 'global', 'pg_control'), Buffer.alloc(8192))
  await failForLong(ha)
  expect(await kindsUntilSettled(ha)).toContain('elected')
  expect(await wordsOf(ha)).toBe('kept')
  expect(await standbysOf(provider, wanted)).toEqual({ node_0: 'streaming' })
})

test('an elected node that cannot be started gives way to the former primary, which is no replica yet', async () => {
  const ha = await newHa(1, 1)
  const { world, provider, wanted } = ha
  await ask(provider, wanted, `insert into kept values ('kept')`)
  for (const node of [1, 0]) process.kill(await nodePid(world, wanted, node), 'SIGKILL')
  // As a server leaves it that is killed right after the election.
  await writeFile(join(homeOf(world, wanted), 'primary.json'), JSON.stringify({ node: 1, term: 2, switchovers: 0 }))
  await writeFile(join(dataOf(world, wanted, 1), 'global', 'pg_control'), Buffer.alloc(8192))
  await failForLong(ha)
  expect(await kindsUntilSettled(ha)).toContain('elected')
  expect(await primaryOf(ha)).toMatchObject({ node: 0, term: 3 })
  expect(await wordsOf(ha)).toBe('kept')
  expect(await standbysOf(provider, wanted)).toEqual({ node_1: 'streaming' })
})

test('a primary that cannot be started is not replaced by a replica that does not run, when no commit waited for it', async () => {
  const ha = await newHa(1, 0)
  const { world, provider, wanted } = ha
  for (const node of [1, 0]) process.kill(await nodePid(world, wanted, node), 'SIGKILL')
  const control = join(dataOf(world, wanted, 0), 'global', 'pg_control')
  const before = await readFile(control)
  await writeFile(control, Buffer.alloc(8192))
  await failForLong(ha)
  const { events } = await provider.service.apply(wanted)
  expect(events.map(({ kind }) => kind)).toEqual(['primary lost', 'fenced', 'not replaced'])
  // Said once, not by every pass.
  expect((await provider.service.apply(wanted)).events).toEqual([])
  await writeFile(control, before)
  expect(await kindsUntilSettled(ha)).not.toContain('elected')
})

test('where no replica can get what the lost primary has, that and the way out are told', async () => {
  const ha = await newHa(1, 0)
  const { world, provider, wanted } = ha
  await ask(provider, wanted, `insert into kept values ('sent')`)
  const receiver = await walReceiverOf(await nodePid(world, wanted, 1))
  process.kill(receiver, 'SIGSTOP')
  onTestFinished(() => signalIfThere(receiver, 'SIGCONT'))
  await leaveToArchive(world, wanted)
  await ask(provider, wanted, `insert into kept values ('not sent')`)
  const archive = join(homeOf(world, wanted), 'archive')
  for (const name of await readdir(archive)) await rm(join(archive, name))
  process.kill(await nodePid(world, wanted, 0), 'SIGKILL')
  const data = dataOf(world, wanted, 0)
  await writeFile(join(data, 'global', 'pg_control'), Buffer.alloc(8192))
  process.kill(receiver, 'SIGCONT')
  await failForLong(ha)
  const { waiting_for, events } = await provider.service.apply(wanted)
  for (const text of [waiting_for, events.at(-1)?.message]) {
    expect(text).toMatch(/node 1 lacks commits: the archive has no WAL file [0-9A-F]{24}; .* move \S+ away/)
  }
  await rename(data, `${data}.away`)
  expect(await kindsUntilSettled(ha)).toContain('elected')
  expect(await wordsOf(ha)).toBe('sent')
})

test('a service that is stopped forgets for how long its primary did not start', async () => {
  const ha = await newHa(1, 1)
  const { world, provider, wanted } = ha
  const stopped: WantedService = { ...wanted, generation: 2, power: 'off' }
  await settle(provider, stopped)
  const control = join(dataOf(world, wanted, 0), 'global', 'pg_control')
  const before = await readFile(control)
  await writeFile(control, Buffer.alloc(8192))
  await failForLong(ha)
  await settle(provider, stopped)
  await writeFile(control, before)
  expect(await kindsUntilSettled(ha)).toEqual([])
})

test('a primary that may not be started yet, because its data is being copied, is not lost', async () => {
  const ha = await newHa(1, 1)
  const { world, provider, wanted } = ha
  await settle(provider, { ...wanted, generation: 2, power: 'off' })
  const lock = join(homeOf(world, wanted), 'copying')
  await writeFile(lock, `copying while it stands still\n${ownName()}\n`)
  expect((await provider.service.apply(wanted)).waiting_for).toContain('its data is being copied')
  await makeOld(join(homeOf(world, wanted), 'primary-down'))
  expect((await provider.service.apply(wanted)).events).toEqual([])
  await rm(lock)
  expect(await kindsUntilSettled(ha)).toEqual([])
  expect(await primaryOf(ha)).toEqual({})
})

/** The first starts of the primary failed so long ago. */
async function failForLong({ world, provider, wanted }: Ha): Promise<void> {
  const sign = join(homeOf(world, wanted), 'primary-down')
  await until(async () => {
    await provider.service.apply(wanted)
    return existsSync(sign)
  })
  await makeOld(sign)
}
