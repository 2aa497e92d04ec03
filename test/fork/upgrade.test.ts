// A data directory as the version before left it, with forks on the way whose private snapshots lay on the disk: the server makes them,
// and nothing of those snapshots stays. It is made by this version, and then taken back to what that one had in store and on the disk.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { WantedService } from '#providers/provider.ts'
import { newId } from '#server/id.ts'
import { storeUrlOf } from '#test/database.ts'
import { type ReadyService, startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { withDb } from '#test/store/test-store.ts'
import { until } from '#test/until.ts'
import { familyOf } from './family.ts'

const installation = shared(() =>
  startInstallation({
    effect: (name) => {
      if (held && name === 'home: make') throw new Error('held up')
    },
  }),
)
const family = familyOf(installation)
/** Services that are new are not begun. */
let held = false

const windowOf = async ({ service_id }: ReadyService) =>
  (await installation.call<{ restorable_from: string }>('GET', `${installation.services}/${service_id}/restorable`))
    .body

test('a server goes on with a data directory of the version before, forks on the way included', async () => {
  const parent = await installation.createService({ name: 'parent', cpu_millis: 'shared' })
  await family.rows(parent, 'create table t as select 1 as n')
  const { id: first } = await family.untilSnapshot(parent)
  await family.rows(parent, 'select txid_current()')
  const target_time = new Date().toISOString()
  const made = await family.fork(parent, { fork_strategy: 'LAST_SNAPSHOT' })
  await installation.call('POST', `${installation.services}/${parent.service_id}/stop`)
  await installation.untilStatus(parent.service_id, 'PAUSED')
  held = true
  const waiting = await family.requestFork(parent, { fork_strategy: 'NOW' })
  const moving = await family.requestFork(parent, { fork_strategy: 'NOW' })
  const earlier = await family.requestFork(parent, { fork_strategy: 'PITR', target_time })
  const { restorable_from } = await windowOf(parent)
  await until(() => [waiting, moving, earlier].every((fork) => existsSync(noteOf(fork))), { what: 'all are noted' })
  await installation.server.close()

  const of_waiting = newId()
  const of_moving = newId()
  await takeBackStore(parent, [
    { fork: waiting, snapshot_id: of_waiting },
    { fork: moving, snapshot_id: of_moving },
    { fork: earlier, snapshot_id: first },
  ])
  const snapshots = join(family.home(parent), 'snapshots')
  cpSync(join(snapshots, first), join(snapshots, of_waiting), { recursive: true })
  mkdirSync(join(snapshots, of_moving))
  cpSync(join(snapshots, first, 'snapshot.json'), join(snapshots, of_moving, 'snapshot.json'))
  cpSync(join(snapshots, first, 'data'), join(family.home(moving), 'data.moved'), { recursive: true })
  takeBackNote(waiting, { snapshot_id: of_waiting, private: true })
  takeBackNote(moving, { snapshot_id: of_moving, private: true })
  takeBackNote(earlier, { snapshot_id: first, target_time })
  takeBackNote(made, { snapshot_id: first })

  held = false
  await installation.restart()
  expect((await windowOf(parent)).restorable_from).toBe(restorable_from)
  for (const child of [waiting, moving, earlier, made]) {
    await installation.untilStatus(child.service_id, 'READY')
    expect(existsSync(join(family.home(child), 'data.moved'))).toBe(false)
  }
  for (const child of [waiting, moving, earlier]) expect(await family.rows(child, 'select n from t')).toEqual(['1'])
  await until(async () => {
    const known = (await family.snapshots(parent)).map(({ id }) => id)
    return readdirSync(snapshots).every((name) => known.includes(name)) && known.includes(first)
  })
  expect((await windowOf(parent)).restorable_from).toBe(restorable_from)
})

type Source = { fork: ReadyService; snapshot_id: string }

async function takeBackStore({ service_id }: ReadyService, sources: readonly Source[]): Promise<void> {
  await withDb(storeUrlOf(installation.config.data_dir), async (db) => {
    await db.query(
      `alter table snapshots add column left_behind boolean not null default false,
         drop constraint snapshot_kind_is_known,
         add constraint snapshot_kind_is_known check (kind in ('initial', 'scheduled', 'manual', 'fork', 'now'))`,
    )
    await db.query(
      `alter table services drop constraint source_is_whole, drop column restorable_from, drop column restorable_until`,
    )
    for (const { fork, snapshot_id } of sources) {
      await db.query(
        `insert into snapshots (snapshot_id, service_id, kind, taken_at, size_bytes) values ($1, $2, 'fork', now(), 1)
         on conflict do nothing`,
        [snapshot_id, service_id],
      )
      await db.query(`update services set source_snapshot_id = $2 where service_id = $1`, [
        fork.service_id,
        snapshot_id,
      ])
    }
    await db.query(
      `alter table services add constraint source_is_whole check (
         (source_service_id is null) = (source_strategy is null) and (source_service_id is null) = (source_snapshot_id is null))`,
    )
    // Those after it say nothing of snapshots and forks.
    await db.query(`delete from migrations where name = '0018-restorable.sql'`)
  })
}

/** What the provider had noted of a fork. */
const noteOf = ({ service_id }: ReadyService) =>
  join(installation.config.data_dir, 'local', 'wanted', `${service_id}.json`)

function takeBackNote(fork: ReadyService, source: object): void {
  const path = noteOf(fork)
  const noted = JSON.parse(readFileSync(path, 'utf8')) as WantedService // as the provider writes it
  writeFileSync(path, JSON.stringify({ ...noted, source: { service_id: noted.source?.service_id, ...source } }))
}
