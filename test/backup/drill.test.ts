// A drill finds what is damaged at rest, and names it: a flipped bit, a missing WAL file, a truncated file of a snapshot.
import { execFileSync } from 'node:child_process'
import { renameSync, truncateSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { howdahHere } from '#test/cli/user.ts'
import { ask } from '#test/database.ts'
import { mayMount, unmountDisk, whySkipped } from '#test/disk.ts'
import { startInstallation, type ReadyService } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { drill as drillOf, flipBit } from './drilling.ts'

const why_no_mount = whySkipped(mayMount())
const howdah = shared(startInstallation)
let service: ReadyService
let home = ''

beforeAll(async () => {
  service = await howdah.createService({ cpu_millis: 'shared' })
  home = join(howdah.config.data_dir, 'local', 'services', service.service_id)
  const sql = (text: string) => ask(howdah.server.api_url, service, service.initial_password, text)
  await until(async () => (await readdir(join(home, 'snapshots'))).some((name) => !name.includes('.')))
  await sql('create table orders as select n, md5(n::text) from generate_series(1, 200000) n')
  await until(async () => (await readdir(join(home, 'archive'))).filter((name) => name.length === 24).length >= 2)
})

afterEach(() => {
  vi.unstubAllEnvs()
})

const drill = () => drillOf(howdah, service)

async function snapshotFolder(): Promise<string> {
  const [id = ''] = (await readdir(join(home, 'snapshots'))).filter((name) => !name.includes('.'))
  return join(home, 'snapshots', id)
}

test('a file that is damaged before the first drill is found by it: its checksum was noted when it was made', async () => {
  const isNoted = async () => (await readdir(join(home, 'backup'))).filter((name) => name.endsWith('.crc')).length >= 2
  await until(isNoted, { what: 'the checksums of the archive and of the snapshot are noted' })
  const path = join(await snapshotFolder(), 'data', 'global', 'pg_control')
  flipBit(path)
  expect(await drill()).toMatch(/^data\/global\/pg_control of the snapshot \w{10} differs from its checksum$/)
  flipBit(path)
})

test('a service whose files are whole is proven restorable, and nothing of the drill is left', async () => {
  expect(await drill()).toBeUndefined()
  expect(await readdir(join(howdah.config.data_dir, 'local', 'drill', 'services'))).toEqual([])
})

test('the command that asks for a drill says where its result will be, and not that the service is READY', async () => {
  vi.stubEnv('HOWDAH_SERVER', howdah.server.url)
  vi.stubEnv('HOWDAH_TOKEN', howdah.token)
  const at = `${howdah.services}/${service.service_id}`
  const proven = async () => (await howdah.call('GET', at)).body.protection?.last_proven_restorable_at
  const before = await proven()
  expect(await howdahHere(['service', 'drill', service.service_id])).toEqual({
    code: 0,
    stdout: 'the drill begins within seconds; protection of the service has its result\n',
    stderr: '',
  })
  await until(async () => (await proven()) !== before)
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

describe.skipIf(why_no_mount)(`a file of a snapshot that the disk does not give${why_no_mount}`, () => {
  test.each([
    ['is not opened', '/proc/sys/net/ipv4/route/flush', 'cannot be read: Permission denied'],
    ['is not read to its end', '/sys/class/net/lo/duplex', 'cannot be read(: Invalid argument| to its end)'],
  ])('and that %s is found and named', async (_, source, problem) => {
    const path = join(await snapshotFolder(), 'data', 'PG_VERSION')
    execFileSync('mount', ['--bind', source, path])
    try {
      expect(await drill()).toMatch(new RegExp(`^data/PG_VERSION of the snapshot \\w{10} ${problem}$`))
    } finally {
      unmountDisk(path)
    }
    expect(await drill()).toBeUndefined()
  })
})

test('a truncated file of a snapshot is found and named, and told by an event', async () => {
  const folder = await snapshotFolder()
  truncateSync(join(folder, 'data', 'global', 'pg_filenode.map'), 100)
  expect(await drill()).toMatch(/^data\/global\/pg_filenode\.map of the snapshot \w{10} differs from its checksum$/)
  const events = `${howdah.services}/${service.service_id}/events?kinds=drill&limit=1`
  const [told] = (await howdah.call<{ message: string }[]>('GET', events)).body
  expect(told?.message).toContain('it cannot be restored: data/global/pg_filenode.map of the snapshot')
})
