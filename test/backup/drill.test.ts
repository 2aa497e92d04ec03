// A drill finds what is damaged at rest, and names it: a flipped bit, a missing WAL file, a truncated file of a snapshot.
import { closeSync, openSync, readSync, renameSync, statSync, truncateSync, writeSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask } from '#test/database.ts'
import { startInstallation, type ReadyService, type TestInstallation } from '#test/installation.ts'
import { until } from '#test/until.ts'

let howdah: TestInstallation
let service: ReadyService
let home = ''

beforeAll(async () => {
  howdah = await startInstallation()
  service = await howdah.createService({ cpu_millis: 'shared' })
  home = join(howdah.config.data_dir, 'local', 'services', service.service_id)
  const sql = (text: string) => ask(howdah.server.api_url, service, service.initial_password, text)
  await until(async () => (await readdir(join(home, 'snapshots'))).some((name) => !name.includes('.')))
  await sql('create table orders as select n, md5(n::text) from generate_series(1, 200000) n')
  await until(async () => (await readdir(join(home, 'archive'))).filter((name) => name.length === 24).length >= 2)
})

afterAll(() => howdah?.stop())

async function drill(): Promise<string | undefined> {
  const at = `${howdah.services}/${service.service_id}`
  const resultOf = async () => (await howdah.call('GET', at)).body.protection
  const before = await resultOf()
  expect((await howdah.call('POST', `${at}/drill`)).status).toBe(202)
  const after = await until(async () => {
    const now = await resultOf()
    const proven = now?.last_proven_restorable_at !== before?.last_proven_restorable_at
    return (proven || now?.last_drill_error !== before?.last_drill_error) && now
  })
  return after.last_drill_error
}

async function snapshotFolder(): Promise<string> {
  const [id = ''] = (await readdir(join(home, 'snapshots'))).filter((name) => !name.includes('.'))
  return join(home, 'snapshots', id)
}

function flipBit(path: string): void {
  const file = openSync(path, 'r+')
  const byte = Buffer.alloc(1)
  const at = Math.floor(statSync(path).size / 2)
  readSync(file, byte, 0, 1, at)
  byte[0] = (byte[0] ?? 0) ^ 1
  writeSync(file, byte, 0, 1, at)
  closeSync(file)
}

test('a service whose files are whole is proven restorable, and nothing of the drill is left', async () => {
  expect(await drill()).toBeUndefined()
  expect(await readdir(join(howdah.config.data_dir, 'local', 'drill', 'services'))).toEqual([])
})

test('a flipped bit of archived WAL is found and named', async () => {
  const [name = ''] = (await readdir(join(home, 'archive'))).filter((one) => one.length === 24).toSorted()
  flipBit(join(home, 'archive', name))
  expect(await drill()).toBe(`the WAL file ${name} differs from its checksum`)
  flipBit(join(home, 'archive', name))
  expect(await drill()).toBeUndefined()
})

test('a missing WAL file is found and named', async () => {
  const [, name = ''] = (await readdir(join(home, 'archive'))).filter((one) => one.length === 24).toSorted()
  renameSync(join(home, 'archive', name), join(home, 'moved'))
  expect(await drill()).toBe(`the WAL file ${name} is missing`)
  renameSync(join(home, 'moved'), join(home, 'archive', name))
  expect(await drill()).toBeUndefined()
})

test('a truncated file of a snapshot is found and named, and told by an event', async () => {
  const folder = await snapshotFolder()
  truncateSync(join(folder, 'data', 'global', 'pg_filenode.map'), 100)
  expect(await drill()).toMatch(/^data\/global\/pg_filenode\.map of the snapshot \w{10} differs from its checksum$/)
  const events = `${howdah.services}/${service.service_id}/events?kinds=drill&limit=1`
  const [told] = (await howdah.call<{ message: string }[]>('GET', events)).body
  expect(told?.message).toContain('it cannot be restored: data/global/pg_filenode.map of the snapshot')
})
