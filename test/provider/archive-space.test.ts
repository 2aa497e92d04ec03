// The archive of a service takes the space of its WAL, not of the zeros after it, and reads the same.
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ensureArchiveSparse } from '#providers/local/wal/archive-space.ts'
import { placeOf } from '#providers/local/host/layout.ts'
import { until } from '#test/until.ts'
import { ask, newWanted, settle, useWorlds } from './service-fixture.ts'

const { newWorld } = useWorlds()
const hashOf = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')
const takenBy = (path: string) => statSync(path).blocks * 512

test('files that were ended early give back their rest; full, old and foreign ones are left alone', async () => {
  const archive = mkdtempSync(join(tmpdir(), 'howdah-archive-'))
  onTestFinished(() => rmSync(archive, { recursive: true }))
  const early = Buffer.concat([Buffer.alloc(100_000, 'wal'), Buffer.alloc(900_000)])
  const files = {
    '000000010000000000000001': early,
    '000000010000000000000002': Buffer.alloc(1_000_000, 'wal'),
    '000000010000000000000003': early,
    'archtemp.000000010000000000000004': early,
  }
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(archive, name), bytes, { flush: true })
  utimesSync(join(archive, '000000010000000000000003'), new Date(0), new Date(0))
  const effects: string[] = []
  const effect = async (name: string) => void effects.push(name)
  const place = { ...placeOf('/d', 'abc', 20_001, false), archive }
  await ensureArchiveSparse(effect, place, async () => true)
  expect(effects).toEqual([])
  for (const _ of ['once', 'again']) await ensureArchiveSparse(effect, place, async () => false)
  expect(effects).toEqual(['archive: give back space'])
  const taken = Object.keys(files).map((name) => takenBy(join(archive, name)) < 500_000)
  expect(taken).toEqual([true, false, false, false])
  for (const [name, bytes] of Object.entries(files)) expect(readFileSync(join(archive, name)).equals(bytes)).toBe(true)
})

test('the WAL that is kept of an idle service takes next to nothing, and still leads to a moment', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = await newWanted(provider, { snapshots: [{ snapshot_id: 'first', deleted: false }] })
  await settle(provider, wanted)
  await ask(provider, wanted, 'create table t as select 7 as n')
  const home = join(world.directory, 'services', wanted.service_id)
  const archive = join(home, 'archive')
  const source = { service_id: wanted.service_id, snapshot_id: 'first', target_time: new Date().toISOString() }
  const more = { ...wanted, snapshots: [...wanted.snapshots, { snapshot_id: 'second', deleted: false }] }
  const sparse = () => listSegments(archive).filter((path) => takenBy(path) < statSync(path).size / 2)
  await until(async () => {
    const { snapshots } = await provider.service.apply(more)
    return snapshots.every(({ state }) => state === 'complete') && sparse().length >= 2
  })
  const copied = listSegments(join(home, 'snapshots', 'second', 'data', 'pg_wal')).map(takenBy)
  expect(copied.length).toBeGreaterThan(0)
  expect(Math.max(...copied)).toBeLessThan(2_000_000)
  const before = sparse().map(hashOf)
  await provider.service.apply(more)
  expect(sparse().map(hashOf).slice(0, before.length)).toEqual(before)
  const child = await newWanted(provider, { source })
  await settle(provider, child)
  expect(await ask(provider, child, 'select n from t')).toBe('7')
  await provider.close()
})

function listSegments(archive: string): string[] {
  const names = readdirSync(archive).filter((name) => /^[0-9A-F]{24}$/.test(name))
  return names.toSorted().map((name) => join(archive, name))
}
