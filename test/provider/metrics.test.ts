// What a service uses, by provider calls on real PostgreSQL: in its control groups where there are, and by its processes.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { lastWrittenOf, storageOf } from '#providers/local/host/storage.ts'
import { usageOfProcesses } from '#providers/local/host/usage.ts'
import { findStagedPath } from '#providers/local/wal/staged-wal.ts'
import { until } from '#test/until.ts'
import { loginTo, newWanted, postmasterPid, settle, useWorlds } from './service-fixture.ts'

const { newWorld } = useWorlds()

test('a service is measured from its start to its stop, and what it does shows', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = await newWanted(provider, { size: 'shared' })
  expect((await provider.metrics([wanted])).size).toBe(0)
  await settle(provider, wanted)

  const first = (await provider.metrics([wanted])).get(wanted.service_id)
  expect(first?.memory_usage_bytes).toBeGreaterThan(2 ** 20)
  expect(first?.disk_usage_bytes).toBeGreaterThan(2 ** 24)
  expect(first?.connections).toBe(0)
  expect(first).not.toHaveProperty('cpu_usage_millicores')

  const pid = await postmasterPid(world, wanted)
  const idle = usageOfProcesses(pid)
  const client = await loginTo(provider, wanted)
  try {
    await client.query('select count(*) from generate_series(1, 1000000) as n')
    const busy = await until(async () => {
      const metrics = (await provider.metrics([wanted])).get(wanted.service_id)
      return metrics?.cpu_usage_millicores !== undefined && metrics.cpu_usage_millicores > 0 && metrics
    })
    expect(busy.disk_usage_bytes).toBe(first?.disk_usage_bytes)
    // By its processes the same is seen, more coarsely.
    const seen = usageOfProcesses(pid)
    expect(seen?.cpu_ns).toBeGreaterThan(idle?.cpu_ns ?? Infinity)
    expect(seen?.memory_bytes).toBeGreaterThan(2 ** 20)
    expect(seen?.memory_bytes).toBeLessThan(2 ** 29)
  } finally {
    await client.end()
  }

  await settle(provider, { ...wanted, power: 'off' })
  expect((await provider.metrics([wanted])).size).toBe(0)
})

test('that something was written is seen by the WAL, and nothing else is', async () => {
  const data = mkdtempSync(join(tmpdir(), 'howdah-data-'))
  onTestFinished(() => rmSync(data, { recursive: true, force: true }))
  expect(await lastWrittenOf(data)).toBe(0)
  mkdirSync(join(data, 'pg_wal'))
  for (const [name, second] of [
    ['000000010000000000000001', 20],
    ['000000010000000000000002', 10],
  ] as const) {
    writeFileSync(join(data, 'pg_wal', name), '')
    utimesSync(join(data, 'pg_wal', name), second, second)
  }
  expect(await lastWrittenOf(data)).toBe(20_000)
  writeFileSync(join(data, 'elsewhere'), '')
  expect(await lastWrittenOf(data)).toBe(20_000)
  utimesSync(join(data, 'pg_wal', '000000010000000000000002'), 30, 30)
  expect(await lastWrittenOf(data)).toBe(30_000)
})

test('storage is what du says', async () => {
  const folder = join(import.meta.dirname, '..')
  const blocks = execFileSync('du', ['-s', '-B', '512', folder], { encoding: 'utf8' }).split('\t')[0]
  const own = execFileSync('stat', ['-c', '%b', folder], { encoding: 'utf8' })
  expect(await storageOf(folder)).toBe((Number(blocks) - Number(own)) * 512)
})

test('a folder of many files is measured a few at a time, with turns for other work', async () => {
  const folder = mkdtempSync('/dev/shm/howdah-many-')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const names = Array.from({ length: 2_000 }, (_, number) => `${number}`)
  for (const name of names) writeFileSync(join(folder, name), 'text')
  const all = await storageOf(folder)
  expect(all).toBeGreaterThan(0)
  const measured = storageOf(folder)
  // An entry that is removed before its turn is left out.
  for (const name of names) rmSync(join(folder, name))
  expect(await measured).toBeLessThan(all)
})

test('a service whose user fills its WAL folder with names is measured all the same, and its timeline is found', async () => {
  const folder = mkdtempSync('/dev/shm/howdah-many-')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'pg_wal'))
  // More than one call of a function takes as its arguments.
  execFileSync('sh', ['-c', 'seq 150000 | xargs printf "%08X.history\\n" | xargs touch'], {
    cwd: join(folder, 'pg_wal'),
  })
  expect(await lastWrittenOf(folder)).toBeGreaterThan(0)
  const path = await findStagedPath(folder, { own: 1, histories: join(folder, 'pg_wal'), at: undefined })
  expect(path).toEqual([{ timeline: 150_000, from: 0 }])
})
