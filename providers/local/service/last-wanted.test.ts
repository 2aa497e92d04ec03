// The last wanted state, also as versions before this one wrote it.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { WantedService } from '../../provider.ts'
import { newEffect } from '../host/effect.ts'
import { newWatch } from '../host/watch.ts'
import { newKinds } from './kinds.ts'
import { ensureLastWanted, findLastWanted } from './last-wanted.ts'

const [service_id, snapshot_id, at] = ['parent', 'first', '2026-03-01T12:00:00.123456Z']
const [home, pooler] = [20_000, 20_001].map((port) => ({ host: '127.0.0.1', port }))
const inVpc = (host: string) => ({ host, port: 5432 })

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'howdah-test-wanted-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  mkdirSync(join(directory, 'wanted'))
  return directory
}

async function findWritten(written: object) {
  const directory = newDirectory()
  writeFileSync(join(directory, 'wanted', 'one.json'), JSON.stringify(written))
  return await findLastWanted(directory, 'one')
}

test('a note that a crash of the machine left empty is none', async () => {
  const directory = newDirectory()
  writeFileSync(join(directory, 'wanted', 'one.json'), '')
  expect(await findLastWanted(directory, 'one')).toBeUndefined()
})

test('with a service its note goes, also the half of one that a killed server left', async () => {
  const directory = newDirectory()
  for (const name of ['one.json', 'one.json.new']) writeFileSync(join(directory, 'wanted', name), '{}')
  const wanted = { service_id: 'one', deleted: true } as WantedService // nothing else of it is read
  await ensureLastWanted(newEffect(undefined), directory, wanted)
  expect(readdirSync(join(directory, 'wanted'))).toEqual([])
})

test('what cannot be read of one service keeps no news from being told', async () => {
  const directory = newDirectory()
  mkdirSync(join(directory, 'wanted', 'one.json'))
  const watch = newWatch()
  onTestFinished(() => watch.close())
  expect(await newKinds({ directory, as_root: false, watch }).of('one')).toBe('service')
})

test.each([
  { written: { service_id, snapshot_id, private: true }, moment: 'now' },
  { written: { service_id, snapshot_id, target_time: at }, moment: { at } },
  { written: { service_id, snapshot_id }, moment: { snapshot_id } },
  { written: { service_id, moment: { at } }, moment: { at } },
])('a source written as $written is the moment $moment', async ({ written, moment }) => {
  const found = await findWritten({ service_id: 'one', endpoint: home, source: written })
  expect(found).toEqual({ service_id: 'one', home, reach: home, source: { service_id, moment } })
})

test.each([
  { written: { endpoint: home }, addresses: { home, reach: home } },
  { written: { endpoint: home, pooler }, addresses: { home, reach: home, pooler } },
  {
    written: { endpoint: home, pooler, network: { vpc_id: '7', address: '10.77.0.2', pooler_address: '10.77.0.3' } },
    addresses: { home, reach: inVpc('10.77.0.2'), pooler: inVpc('10.77.0.3'), vpc_id: '7' },
  },
  {
    written: { endpoint: home, network: { vpc_id: '7', address: '10.77.0.2', pooler_address: '10.77.0.3' } },
    addresses: { home, reach: inVpc('10.77.0.2'), vpc_id: '7' },
  },
  { written: { home, reach: home, pooler }, addresses: { home, reach: home, pooler } },
])('addresses written as $written are $addresses', async ({ written, addresses }) => {
  const set = { replica_set_id: 'one', service: { service_id } }
  expect(await findWritten({ ...set, ...written })).toEqual({ ...set, ...addresses })
})
