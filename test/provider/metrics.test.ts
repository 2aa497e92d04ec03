// What a service uses, by provider calls on real PostgreSQL: in its control groups where there are, and by its processes.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { lastWrittenOf, storageOf } from '#providers/local/host/storage.ts'
import { usageOfProcesses } from '#providers/local/host/usage.ts'
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
  expect(lastWrittenOf(data)).toBe(0)
  mkdirSync(join(data, 'pg_wal'))
  for (const [name, second] of [
    ['000000010000000000000001', 20],
    ['000000010000000000000002', 10],
  ] as const) {
    writeFileSync(join(data, 'pg_wal', name), '')
    utimesSync(join(data, 'pg_wal', name), second, second)
  }
  expect(lastWrittenOf(data)).toBe(20_000)
  writeFileSync(join(data, 'elsewhere'), '')
  expect(lastWrittenOf(data)).toBe(20_000)
  utimesSync(join(data, 'pg_wal', '000000010000000000000002'), 30, 30)
  expect(lastWrittenOf(data)).toBe(30_000)
})

test('storage is what du says', async () => {
  const folder = join(import.meta.dirname, '..')
  const blocks = execFileSync('du', ['-s', '-B', '512', folder], { encoding: 'utf8' }).split('\t')[0]
  const folders = execFileSync('find', [folder, '-type', 'd', '-printf', '%b\n'], { encoding: 'utf8' })
  const in_folders = folders
    .trim()
    .split('\n')
    .reduce((sum, count) => sum + Number(count), 0)
  expect(await storageOf(folder)).toBe((Number(blocks) - in_folders) * 512)
})
