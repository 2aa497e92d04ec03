// Attack: a tenant takes as much of the disk as there is while no server watches. On an XFS with project quotas the kernel
// itself refuses it, and PostgreSQL lives on, because its WAL has a limit of its own. Needs a root that may mount, and a
// kernel with quotas of XFS.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mountOf } from '#providers/local/quota/project.ts'
import { newDataDir } from '#test/data-dir.ts'
import { removeDataDirOnDisk } from '#test/disk.ts'
import { familyOf } from '#test/fork/family.ts'
import { type ReadyService, startInstallation, type TestInstallation } from '#test/installation.ts'
import { seedDataDir } from '#test/seed.ts'
import { until } from '#test/until.ts'

const data_dir = newDataDir()
const disk = join(data_dir, 'local')
const mounted = mountXfs()
const why = mounted ? '' : ' (skipped: it takes a root that may mount, and a kernel that has them)'
/** In GB, for a shared service: more than the WAL that it keeps at hand. The kernel's limits follow from it. */
const disk_quota = 0.4

let howdah: TestInstallation
let other: ReadyService

beforeAll(async () => {
  if (!mounted) return
  await seedDataDir(data_dir)
  howdah = await startInstallation({ config: { data_dir, disk_quota } })
  other = await howdah.createService({ name: 'other', cpu_millis: 'shared' })
})

afterAll(async () => {
  if (!mounted) return
  await howdah?.server.close().catch(() => undefined)
  await removeDataDirOnDisk(data_dir, disk)
})

const family = () => familyOf(howdah)
/** A folder with a limit of its own shows that as its size. */
const isLimited = (folder: string) => statfsSync(folder).blocks !== statfsSync(disk).blocks
const dataOf = (service: ReadyService) => join(family().home(service), 'data')

describe.skipIf(why)(`project quotas${why}`, () => {
  test('a service that writes while no server watches is refused by the kernel, and can be read all the time', async () => {
    const service = await howdah.createService({ name: 'greedy', cpu_millis: 'shared' })
    await family().untilSnapshot(service)
    expect(
      [dataOf(service), join(dataOf(service), 'pg_wal'), join(family().home(service), 'archive')].map(isLimited),
    ).toEqual([true, true, true])
    const [greedy, reader, neighbour] = [
      await family().session(service),
      await family().session(service),
      await family().session(other),
    ]
    const since = await startOf(reader)
    await howdah.server.close()
    await greedy.query('create table hoard (line text)')
    const insert = `insert into hoard select repeat(md5(n::text), 32) from generate_series(1, 4000) n`
    const refusal = await until(
      async () =>
        await greedy.query(insert).then(
          () => undefined,
          (error: Error) => error.message,
        ),
    )
    expect(refusal).toMatch(/could not extend file .*(No space left on device|Disk quota exceeded)/)
    expect((await reader.query('select line from hoard limit 1000')).rowCount).toBe(1000)
    await reader.query('checkpoint')
    expect(await startOf(reader)).toEqual(since)
    await neighbour.query('create table fine as select 1 as n')
    for (const session of [greedy, reader, neighbour]) await session.end()

    await howdah.restart()
    await until(async () => (await family().events(service)).some((event) => event.includes('its disk quota')))
    const freeing = await until(() => family().session(service), { what: 'it is opened' })
    await freeing.query('begin read write; drop table hoard; commit')
    await freeing.end()
    await until(async () => (await family().rows(service, 'show default_transaction_read_only'))[0] === 'off')
    expect(await family().rows(service, 'select pg_postmaster_start_time()::text')).toEqual([since])
    await howdah.call('DELETE', `${howdah.services}/${service.service_id}`)
    await howdah.untilStatus(service.service_id, 'removed')
  })

  test('forks and replicas are made on such a disk as on any other, and limited too', async () => {
    await family().rows(other, 'create table kept as select 7 as n')
    const running = await family().fork(other, { fork_strategy: 'NOW' })
    await howdah.call('POST', `${howdah.services}/${other.service_id}/stop`)
    await howdah.untilStatus(other.service_id, 'PAUSED')
    const stopped = await family().fork(other, { fork_strategy: 'NOW' })
    await howdah.call('POST', `${howdah.services}/${other.service_id}/start`)
    await howdah.untilStatus(other.service_id, 'READY')
    for (const fork of [running, stopped]) {
      expect(await family().rows(fork, 'select n from kept')).toEqual(['7'])
      expect(isLimited(dataOf(fork))).toBe(true)
    }
    await howdah.call('POST', `${howdah.services}/${running.service_id}/setHA`, {
      replica_count: 1,
      sync_replica_count: 0,
    })
    await howdah.untilStatus(running.service_id, 'READY')
    await howdah.call('POST', `${howdah.services}/${running.service_id}/switchover`)
    await howdah.untilStatus(running.service_id, 'READY')
    const promoted = join(family().home(running), 'node-1', 'data')
    await until(() => isLimited(promoted) && !isLimited(dataOf(running)), { what: 'the limit is with the primary' })
    await family().rows(running, 'create table more as select 1 as n')
  })
})

test.each([
  ['/d', '/d', 'rw,prjquota'],
  ['/', '/', 'rw,attr2,pquota'],
  [undefined, '/d', 'rw,noquota'],
  [undefined, '/d', 'rw,pqnoenforce'],
  [undefined, '/data', 'rw,prjquota'],
])('project quotas are at %s with an XFS at %s that has %s', (found, path, options) => {
  const line = (mount: string, type: string, more: string) => `1 2 8:0 / ${mount} rw - ${type} /dev/x ${more}`
  expect(
    mountOf([line('/', 'xfs', path === '/' ? options : 'rw'), line(path, 'xfs', options)].join('\n'), '/d/local'),
  ).toBe(found)
})

async function startOf(session: pg.Client): Promise<string> {
  const { rows } = await session.query<string[]>({ text: 'select pg_postmaster_start_time()::text', rowMode: 'array' })
  return String(rows[0]?.[0])
}

/** A sparse file: what is not written takes nothing. False where this host cannot do it. */
function mountXfs(): boolean {
  const image = `${data_dir}.xfs`
  mkdirSync(disk)
  try {
    execFileSync('truncate', ['--size', '4G', image])
    execFileSync('/usr/sbin/mkfs.xfs', ['-q', image], { stdio: 'ignore' })
    execFileSync('mount', ['-o', 'loop,prjquota', image, disk], { stdio: 'ignore' })
    execFileSync('chmod', ['0711', disk])
    return true
  } catch {
    // Where every test is skipped nothing is cleaned up after them.
    rmSync(data_dir, { recursive: true })
    return false
  } finally {
    // While it is mounted it goes on without a name.
    rmSync(image, { force: true })
  }
}
