// The disk of the databases is full: the service says so, everything else goes on, and creation completes when there is
// space again. Needs a small disk of its own, so a root that may mount; the metadata store lies outside of it.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ask, loginTo } from '#test/database.ts'
import { fillDisk, heldMb, newDataDirOnDisk, removeDataDirOnDisk } from '#test/disk.ts'
import { familyOf } from '#test/fork/family.ts'
import { type ReadyService, startInstallation, type TestInstallation } from '#test/installation.ts'
import { seedDataDir } from '#test/seed.ts'
import { orphansOf } from '#test/traces.ts'
import { until } from '#test/until.ts'

/** Room for a template and some copies of it. */
const { data_dir, disk, mounted, why } = newDataDirOnDisk(1000)
const ballast = join(disk, 'ballast')
const fill = (left_mb?: number) => fillDisk(disk, ballast, left_mb)

let howdah: TestInstallation

beforeAll(async () => {
  if (!mounted) return
  await seedDataDir(data_dir)
  howdah = await startInstallation({ config: { data_dir } })
})

afterEach(() => rm(ballast, { force: true }))

afterAll(async () => {
  await howdah?.server.close()
  if (mounted) await removeDataDirOnDisk(data_dir, disk)
})

const at = ({ service_id }: { service_id: string }, verb = '') => `${howdah.services}/${service_id}${verb}`

describe.skipIf(why)(`a full disk${why}`, () => {
  test('a create waits for space and says so, while everything else goes on', async () => {
    const other = await howdah.createService({ name: 'other', cpu_millis: 'shared' })
    const query = (service: ReadyService, sql: string) =>
      ask(howdah.server.api_url, service, service.initial_password, sql)
    // The first session of a database writes a file of its own, and the end of a snapshot a file of WAL.
    await query(other, 'select 1')
    await familyOf(howdah).untilSnapshot(other)
    fill()

    const created = await howdah.call('POST', howdah.services, { name: 'waiting', cpu_millis: 'shared' })
    expect(created.status).toBe(202)
    const service = created.body as ReadyService // the contract's own answer to a create
    const no_space = `no space left on the disk of ${disk}; it goes on when there is space`
    await until(async () =>
      (await howdah.eventsOf(service.service_id)).some(
        (event) => event.kind === 'setback' && event.message === no_space,
      ),
    )
    expect((await howdah.call('GET', at(service))).body.status).toBe('CONFIGURING')
    expect((await howdah.call('GET', howdah.services)).status).toBe(200)
    expect(await query(other, 'select 1')).toEqual(['1'])
    const readsOnly = async () => (await query(other, 'show default_transaction_read_only'))[0]
    await until(async () => (await readsOnly()) === 'on', { what: 'writes are refused' })
    await expect(query(other, 'create table t ()')).rejects.toThrow(/read-only transaction/)

    await rm(ballast)
    await until(async () => (await readsOnly()) === 'off', { what: 'writes are taken' })
    await howdah.untilStatus(other.service_id, 'READY')
    await howdah.untilStatus(service.service_id, 'READY')
    expect(await query(service, 'select 1')).toEqual(['1'])
    expect(orphansOf(data_dir, [other.service_id, service.service_id])).toEqual([])
  })

  test('a service that fills the disk is interrupted before it is full: it serves on, reads only, until there is space', async () => {
    const service = await howdah.createService({ name: 'greedy', cpu_millis: 'shared' })
    const query = (sql: string) => ask(howdah.server.api_url, service, service.initial_password, sql)
    const lives_since = () => query('select pg_postmaster_start_time()')
    await query('create table kept as select 7 as n')
    await familyOf(howdah).untilSnapshot(service)
    const before = await lives_since()
    // What it gives back later. No WAL is written for it, which would come and go by whole files.
    await query('create unlogged table hoard as select repeat(md5(n::text), 32) from generate_series(1, 100000) n')
    // A disk that fills so fast may count as full until the end of that is seen.
    const filled_at = performance.now()
    await until(() => performance.now() - filled_at > 1_000)
    const readsOnly = async () => (await query('show default_transaction_read_only'))[0]
    await until(async () => (await readsOnly()) === 'off', { what: 'writes are taken' })
    // One statement, which takes a megabyte a second: a machine cannot be so busy that the disk is full before it is noticed.
    const hoard = `do $$ begin loop
      insert into hoard select repeat(md5(n::text), 32) from generate_series(1, 400) n;
      perform pg_sleep(0.4);
    end loop; end $$`
    const interrupted = expect(query(hoard)).rejects.toThrow(/canceling statement due to user request/)
    const running = `select count(*) from pg_stat_activity where query like '%into hoard select%'`
    await until(async () => (await query(running))[0] === '2', { what: 'it writes' })
    fill(190 - heldMb(disk))
    await interrupted
    await howdah.untilStatus(service.service_id, 'UNSTABLE')
    const reads_only = 'it serves reads only until there is more space'
    await until(async () =>
      (await howdah.eventsOf(service.service_id)).some(({ message }) => message.includes(reads_only)),
    )
    await expect(query('insert into hoard values (1)')).rejects.toThrow(/read-only transaction/)
    expect(await query('select n from kept')).toEqual(['7'])
    // Who means to make room is let.
    const session = await loginTo(howdah.server.api_url, service, service.initial_password)
    await session.query('begin read write; truncate hoard; commit')
    await session.end()
    await howdah.untilStatus(service.service_id, 'READY')
    await query('insert into hoard values (1)')
    expect(await lives_since()).toEqual(before)
    await howdah.call('DELETE', at(service))
    await howdah.untilStatus(service.service_id, 'removed')
  })

  test('a log that finds no space is read as far as it goes, and goes on when there is space', async () => {
    const service = await howdah.createService({ name: 'talkative', cpu_millis: 'shared' })
    const raise = (word: string, count: number) =>
      ask(
        howdah.server.api_url,
        service,
        service.initial_password,
        `do $$ begin for n in 1..${count} loop raise log '${word} % %', n, repeat('x', 500); end loop; end $$`,
      )
    const logs = async (query: string) => {
      const { status, body } = await howdah.call<{ logs: string[] }>('GET', at(service, `/logs?${query}`))
      expect(status).toBe(200)
      return body.logs
    }
    await raise('before', 10)
    await familyOf(howdah).untilSnapshot(service)
    // Until the reserve is freed, which is soon, there is none.
    let fills = 0
    await until(async () => {
      fill()
      fills += 1
      await raise(`lost${fills}x`, 300)
      return (await logs(`search=lost${fills}x`)).length < 300
    })
    expect(await logs('search=before')).toHaveLength(10)
    expect((await logs('')).length).toBeGreaterThanOrEqual(10)

    await rm(ballast)
    await raise('after', 10)
    // The first of them may be on the torn line of the last entry that found space.
    await until(async () => (await logs('search=after')).length >= 9)
    expect(await logs('search=before')).toHaveLength(10)
    await howdah.call('DELETE', at(service))
    await howdah.untilStatus(service.service_id, 'removed')
  })

  test('a delete needs no space', async () => {
    const service = await howdah.createService({ name: 'in the way', cpu_millis: 'shared' })
    fill()
    expect((await howdah.call('DELETE', at(service))).status).toBe(202)
    await howdah.untilStatus(service.service_id, 'removed')
  })
})
