// The archive from outside: a stalled one makes the service UNSTABLE, says why and heals by itself; and what retention
// prunes never takes a moment of the window with it.
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { storeUrlOf } from '#test/database.ts'
import { type ReadyService, startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { familyOf } from './family.ts'

/** Every pass over a service whose snapshots are due all the time is work for it. */
const interval_ms = 200

const installation = shared(() => startInstallation({ config: { snapshots: { interval_seconds: 1, kept: 2 } } }))
const family = familyOf(installation)
let one: ReadyService
let other: ReadyService

beforeAll(async () => {
  const newService = () => installation.createService({ cpu_millis: 'shared' })
  ;[one, other] = await Promise.all([newService(), newService()])
})

const switchWal = (service: ReadyService) => family.asSuperuser(service, 'select pg_walfile_name(pg_switch_wal())')

test('every service archives from its first second, each into its own folder', async () => {
  for (const service of [one, other]) {
    await family.rows(service, 'create table t (n int)')
    await switchWal(service)
    const archived = () => readdirSync(join(family.home(service), 'archive')).some((name) => /^\w{24}$/.test(name))
    await until(archived, { what: 'a segment is archived' })
  }
})

test('a stalled archive makes the service UNSTABLE with a clear event, and it heals when the cause is removed', async () => {
  const service = one
  const archive = join(family.home(service), 'archive')
  await family.untilSnapshot(service)
  // Both at once: a pass between them would make the folder anew.
  renameSync(archive, `${archive}.away`)
  writeFileSync(archive, 'in the way')
  await family.rows(service, 'insert into t values (1)')
  await switchWal(service)
  const status = join(family.home(service), 'data', 'pg_wal', 'archive_status')
  await until(async () => (await family.asSuperuser(service, 'select failed_count from pg_stat_archiver')) !== '0')
  const [waiting = ''] = readdirSync(status).filter((name) => /^\w{24}\.ready$/.test(name))
  // As if it had been waiting for a minute already.
  const minute_ago = new Date(Date.now() - 60_000)
  await utimes(join(status, waiting), minute_ago, minute_ago)
  await installation.untilStatus(service.service_id, 'UNSTABLE')
  expect(await family.rows(service, 'select count(*) from t')).toEqual(['1'])
  const isTold = (event: string) => event.includes('its WAL cannot be archived') && event.includes(archive)
  await until(async () => (await family.events(service)).some(isTold), { what: 'the events say why' })
  rmSync(archive)
  renameSync(`${archive}.away`, archive)
  await installation.untilStatus(service.service_id, 'READY')
  const caught_up = 'select last_archived_time > last_failed_time from pg_stat_archiver'
  // The archiver takes a file off its list before it tells its statistics.
  await until(async () => (await family.asSuperuser(service, caught_up)) === 'true', {
    what: 'the archiver has caught up',
  })
  expect(readdirSync(status)).not.toContain(waiting)
  expect(await family.events(service)).toContain('recovered: the service answers again')
})

test('retention keeps as many snapshots as it should, prunes older WAL, and the window stays whole', async () => {
  const service = other
  const first = await family.untilSnapshot(service)
  const seen = new Set([first.id])
  for (let n = 1; n <= 4; n++) {
    await family.rows(service, `insert into t values (${n})`)
    await switchWal(service)
    const poll = async () => {
      await lookNow(service)
      return (await family.snapshots(service)).find(({ id, status }) => status === 'complete' && !seen.has(id))
    }
    seen.add((await until(poll, { interval_ms })).id)
  }
  const fewLeft = async () => {
    await lookNow(service)
    const all = await family.snapshots(service)
    // One more may be on its way in, and some out, at any poll.
    return all.filter(({ status }) => status === 'complete').length <= 3 && !all.some(({ id }) => id === first.id)
  }
  await until(fewLeft, { interval_ms })

  const kept = (await family.snapshots(service)).filter(({ status }) => status === 'complete')
  const oldest = kept.toSorted((a, b) => ((a.taken ?? '') < (b.taken ?? '') ? -1 : 1))[0]
  await until(() => {
    const starts = readdirSync(join(family.home(service), 'snapshots'))
      .filter((name) => !name.includes('.'))
      .map((id) => readFileSync(join(family.home(service), 'snapshots', id, 'snapshot.json'), 'utf8'))
      .map((text) => (JSON.parse(text) as { start_wal_file: string }).start_wal_file)
      .toSorted()
    const archived = readdirSync(join(family.home(service), 'archive')).toSorted()
    return archived.every((name) => name >= (starts[0] ?? ''))
  })
  expect(oldest).toBeDefined()
  const restorable = `${installation.services}/${service.service_id}/restorable`
  // The window of such a schedule may move on between the two requests.
  const child = await until(async () => {
    const { body } = await installation.call<{ restorable_from: string }>('GET', restorable)
    return await family.requestFork(service, { fork_strategy: 'PITR', target_time: body.restorable_from })
  })
  await installation.untilStatus(child.service_id, 'READY')
  expect(Number(await family.rows(child, 'select count(*) from t'))).toBeGreaterThan(0)
})

test('the last complete snapshot cannot be deleted, another one can', async () => {
  const service = await installation.createService({ cpu_millis: 'shared' })
  const only = await family.untilSnapshot(service)
  const at = `${installation.services}/${service.service_id}/snapshots`
  const { status } = await installation.call('DELETE', `${at}/${only.id}`)
  expect(status).toBe(409)
  await installation.call('POST', at)
  await family.untilSnapshot(service, [only.id])
  expect((await installation.call('DELETE', `${at}/${only.id}`)).status).toBe(202)
  await until(async () => !(await family.snapshots(service)).some(({ id }) => id === only.id))
  await until(async () => !(await readdir(join(family.home(service), 'snapshots'))).includes(only.id))
})

/** Makes the service due, as time would. */
async function lookNow({ service_id }: ReadyService): Promise<void> {
  const store = new pg.Client(storeUrlOf(installation.config.data_dir))
  await store.connect()
  try {
    const { rows } = await store.query<{ asked_at: Date }>(
      `update work set due_at = now(), nudges = nudges + 1 where key = $1 returning now() as asked_at`,
      [service_id],
    )
    await store.query(`select pg_notify('work', '')`)
    // On a slow machine the next snapshot is due as soon as one is taken, so nothing may ever come to rest.
    await until(async () => {
      const passed = 'select from services where service_id = $1 and observed_at > $2'
      return (await store.query(passed, [service_id, rows[0]?.asked_at])).rowCount === 1
    })
  } finally {
    await store.end()
  }
}
