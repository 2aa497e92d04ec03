// A disk that is really full while WAL is archived, a snapshot is taken and a fork is restored: what runs goes on running,
// it is said what is missing, and all resumes when there is space. Needs a small disk, so a root that may mount.
import { existsSync, readdirSync } from 'node:fs'
import { rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { wal_segment_mb } from '#providers/local/postgres/template.ts'
import { drill } from '#test/backup/drilling.ts'
import { fillDisk, newDataDirOnDisk, removeDataDirOnDisk } from '#test/disk.ts'
import { type ReadyService, startInstallation, type TestInstallation } from '#test/installation.ts'
import { seedDataDir } from '#test/seed.ts'
import { until } from '#test/until.ts'
import { type Family, familyOf } from './family.ts'

/** Room for a template and some copies of it. */
const { data_dir, disk, mounted, why } = newDataDirOnDisk(1000)
const ballast = join(disk, 'ballast')
const fill = (left_mb?: number) => fillDisk(disk, ballast, left_mb)
const no_space = `no space left on the disk of ${disk}; it goes on when there is space`

let installation: TestInstallation
let family: Family
let parent: ReadyService
let session: pg.Client
let atEffect: ((name: string) => void) | undefined

beforeAll(async () => {
  if (!mounted) return
  await seedDataDir(data_dir)
  installation = await startInstallation({ config: { data_dir }, effect: (name) => atEffect?.(name) })
  family = familyOf(installation)
  parent = await installation.createService({ name: 'parent', cpu_millis: 'shared' })
  await family.untilSnapshot(parent)
  session = await family.session(parent)
  await session.query('create table t as select 1 as n')
})

afterEach(() => rm(ballast, { force: true }))

afterAll(async () => {
  if (!mounted) return
  await session?.end().catch(() => undefined)
  await installation?.server.close()
  await removeDataDirOnDisk(data_dir, disk)
})

const at = (service: ReadyService, verb = '') => `${installation.services}/${service.service_id}${verb}`

const untilTold = (service: ReadyService, words: string) =>
  until(async () => (await family.events(service)).find((event) => event.includes(words)), { what: words })

/** Who is there already is never disturbed; a new login may have to write a file, so it can take a second attempt. */
const servesOn = async () => {
  await session.query('select n from t')
  await until(() => family.rows(parent, 'select n from t'), { what: 'a login' })
}

describe.skipIf(why)(`a full disk${why}`, () => {
  test('WAL that cannot be archived makes the service UNSTABLE, which serves on, and heals with the space', async () => {
    const home = family.home(parent)
    // Segments to go on with: PostgreSQL reuses archived ones, and without any it would have to make a new one.
    for (let n = 0; n < 3; n++) await switchWal()
    await until(() => waiting(home).length === 0)
    await asSuperuser('checkpoint')
    // The reserve is freed already.
    await rm(join(disk, 'reserve'))
    // Half of what a segment takes: one would fit as soon as any process frees a little.
    fill(wal_segment_mb / 2)
    await session.query('begin read write; insert into t values (2); commit')
    await switchWal()
    await until(async () => (await asSuperuser('select failed_count from pg_stat_archiver')) !== '0')
    // As if it had been waiting for a minute already.
    const minute_ago = new Date(Date.now() - 60_000)
    for (const file of waiting(home)) await utimes(file, minute_ago, minute_ago)
    await installation.untilStatus(parent.service_id, 'UNSTABLE')
    await servesOn()
    await session.query('begin read write; insert into t values (3); commit')
    const isTold = async () =>
      (await family.events(parent)).some((event) => event.includes('its WAL cannot be archived'))
    await until(
      async () => {
        // It got through after all, because a process freed a little: there is no space for the next.
        if (waiting(home).length === 0) await switchWal()
        for (const file of waiting(home)) await utimes(file, minute_ago, minute_ago).catch(() => undefined)
        return await isTold()
      },
      { what: 'it is told that WAL cannot be archived' },
    )
    await rm(ballast)
    await installation.untilStatus(parent.service_id, 'READY')
    const halves = () => readdirSync(join(home, 'archive')).filter((name) => name.startsWith('archtemp'))
    await until(() => waiting(home).length + halves().length === 0, { what: 'all is archived, and no halves are left' })
    expect(await family.rows(parent, 'select n from t order by n')).toEqual(['1', '2', '3'])
  })

  test('a snapshot waits for space while its service serves on, and leaves nothing half', async () => {
    const known = (await family.snapshots(parent)).map(({ id }) => id)
    // Enough to begin with.
    fill(264)
    const wal_file = 'select pg_walfile_name(pg_current_wal_insert_lsn())'
    await session.query('begin read write; insert into t values (4); delete from t where n = 4; commit')
    const before = await asSuperuser(wal_file)
    await installation.call('POST', at(parent, '/snapshots'))
    await untilTold(parent, `a snapshot is waiting: ${no_space}`)
    // An attempt that began a new one would take space that only a snapshot frees.
    expect(await asSuperuser(wal_file)).toBe(before)
    await servesOn()
    expect((await installation.call('GET', at(parent))).body.status).toBe('READY')
    await until(() => !readdirSync(join(family.home(parent), 'snapshots')).some((name) => name.endsWith('.new')))
    await rm(ballast)
    await family.untilSnapshot(parent, known)
  })

  test('a fork waits for space while its data is copied, and comes when there is some', async () => {
    // Enough to begin with.
    fill(264)
    const child = await family.requestFork(parent, { fork_strategy: 'LAST_SNAPSHOT' })
    await untilTold(child, no_space)
    await servesOn()
    expect(existsSync(join(family.home(child), 'data.new'))).toBe(false)
    await rm(ballast)
    await installation.untilStatus(child.service_id, 'READY')
    expect(await family.rows(child, 'select n from t order by n')).toEqual(['1', '2', '3'])
    await installation.call('DELETE', at(child))
    await installation.untilStatus(child.service_id, 'removed')
  })

  test('a drill without space for its copy says so, and nothing of whether the service can be restored', async () => {
    fill(264)
    await installation.call('POST', at(parent, '/drill'))
    await untilTold(parent, 'it was not tried out whether it can be restored: too little space')
    expect((await installation.call('GET', at(parent))).body.protection).not.toHaveProperty('last_drill_error')
    await rm(ballast)
    expect(await drill(installation, parent)).toBeUndefined()
  })

  test('a fork whose replay runs out of space goes on with it when there is some', async () => {
    const target_time = new Date().toISOString()
    atEffect = (name) => {
      if (name !== 'postmaster: spawn') return
      atEffect = undefined
      fill()
    }
    const child = await family.requestFork(parent, { fork_strategy: 'PITR', target_time })
    // Others may give back so much meanwhile that it comes to its end; then it serves reads only.
    const told = /no space left|reads only/i
    await until(async () => (await family.events(child)).some((event) => told.test(event)), { what: 'it is told' })
    expect((await installation.call('GET', at(child))).body.status).not.toBe('READY')
    await rm(ballast)
    await installation.untilStatus(child.service_id, 'READY')
    expect(await family.rows(child, 'select n from t order by n')).toEqual(['1', '2', '3'])
    await installation.untilStatus(parent.service_id, 'READY')
  })
})

const asSuperuser = (sql: string) => family.asSuperuser(parent, sql)

async function switchWal(): Promise<void> {
  await asSuperuser(`select pg_logical_emit_message(true, 'test', '')`)
  await asSuperuser('select pg_switch_wal()')
}

/** The notes of segments that are still to be archived. */
function waiting(home: string): string[] {
  const folder = join(home, 'data', 'pg_wal', 'archive_status')
  return readdirSync(folder)
    .filter((name) => name.endsWith('.ready'))
    .map((name) => join(folder, name))
}
