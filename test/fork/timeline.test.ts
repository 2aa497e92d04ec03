// Recovery to moments before and after a change of the timeline, as a failover makes it: the new primary goes on from an
// earlier place than the old one had reached, whose last commits are lost, while its WAL and a snapshot are still there.
import { chmod, chown, mkdir, mkdtemp, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { copyTree } from '#providers/local/host/copy-tree.ts'
import type { LocalProvider } from '#providers/local/local.ts'
import type { ObservedService, WantedService } from '#providers/provider.ts'
import { ask, newWanted, settle, useWorlds, type World } from '#test/provider/service-fixture.ts'
import { homeOf } from '#test/provider/standby-fixture.ts'
import { sampleOf } from '#test/sample.ts'
import { momentNow, until } from '#test/until.ts'

const { newWorld } = useWorlds()

const what = 'a moment is found on the timeline that the service went on with, and what a failover lost is not'
const sizes = [
  { wal: 'as services have it now', mb: 8, openIn: (world: World) => world.open() },
  { wal: 'of a former template', mb: 16, openIn: openFormer },
]

test.each(sampleOf(sizes, 1))(`${what}: WAL $wal`, async ({ mb, openIn }) => {
  const world = await newWorld()
  const provider = await openIn(world)
  let wanted = await newWanted(provider)
  const change = async (parts: Partial<WantedService>) => {
    wanted = { ...wanted, ...parts, generation: wanted.generation + 1 }
    await settle(provider, wanted)
  }
  const commit = async (n: number) => {
    await ask(provider, wanted, `insert into t values (${n})`)
    return await momentNow()
  }
  const takeSnapshot = async (snapshot_id: string) => {
    wanted = { ...wanted, snapshots: [...wanted.snapshots, { snapshot_id, deleted: false }] }
    await untilTaken(provider, wanted, snapshot_id)
  }
  await settle(provider, wanted)
  await ask(provider, wanted, 'create table t (n int)')
  await takeSnapshot('before')
  const after_1 = await commit(1)

  // What a standby would have had when its primary was lost.
  await change({ power: 'off' })
  await keepCopy(world, wanted)
  await change({ power: 'on' })
  await commit(100)
  for (let segment = 0; segment < 3; segment += 1) await switchWal(world, wanted)
  await takeSnapshot('lost')
  await commit(101)
  await switchWal(world, wanted)
  await change({ power: 'off' })
  await promoteCopy(world, wanted)
  await change({ power: 'on' })

  const after_2 = await commit(2)
  await commit(3)
  const rows = (moment: string | Date) =>
    rowsOfFork(provider, {
      service_id: wanted.service_id,
      moment: typeof moment === 'string' ? { snapshot_id: moment } : { at: moment.toISOString() },
    })
  expect(await Promise.all([rows(after_1), rows(after_2)])).toEqual(['1', '1,2'])
  // As a snapshot itself: the service as it was at that moment, without what was lost.
  expect(await rows('lost')).toBe('1')

  await takeSnapshot('after')
  const after_4 = await commit(4)
  await commit(5)
  const archive = await readdir(join(world.directory, 'services', wanted.service_id, 'archive'))
  expect(archive).toContain('00000002.history')
  const [first = ''] = archive.filter((name) => name.length === 24)
  expect((await stat(join(world.directory, 'services', wanted.service_id, 'archive', first))).size).toBe(mb * 1024 ** 2)
  expect(await Promise.all([rows(after_2), rows(after_4)])).toEqual(['1,2', '1,2,3,4'])

  // What the service was at the moment of the diverged one is reached from the one before, which stays for it, and goes with it.
  const observeWithout = async (...ids: string[]) => {
    const snapshots = wanted.snapshots.map((one) => ({ ...one, deleted: ids.includes(one.snapshot_id) }))
    const observed = await provider.service.apply({ ...wanted, snapshots })
    return { ...observed, states: observed.snapshots.map(({ state }) => state) }
  }
  const momentOf = ({ snapshots }: ObservedService, at: number) => {
    const one = snapshots[at]
    return one?.state === 'complete' ? one.taken_at : undefined
  }
  const all = await observeWithout()
  expect(all.restorable).toEqual({ from: momentOf(all, 0), until: 'now' })
  const reached = await observeWithout('before')
  expect(reached).toMatchObject({ states: ['complete', 'complete', 'complete'], restorable: all.restorable })
  expect(await rows('lost')).toBe('1')
  const left = await observeWithout('before', 'lost')
  expect(left).toMatchObject({
    states: ['absent', 'absent', 'complete'],
    restorable: { from: momentOf(all, 2), until: 'now' },
  })
  wanted = { ...wanted, snapshots: wanted.snapshots.slice(-1) }
  await change({ power: 'off' })
  expect(await rows(await momentNow())).toBe('1,2,3,4,5')
  await provider.close()
})

/** A provider whose template has WAL files of PostgreSQL's own size, as all had once. */
async function openFormer(world: World): Promise<LocalProvider> {
  const provider = await world.open()
  await provider.close()
  await rm(join(world.directory, 'templates'), { recursive: true })
  const bin = provider.installations[0]?.bin ?? ''
  const former = await mkdtemp(join(tmpdir(), 'howdah-former-'))
  onTestFinished(() => rm(former, { recursive: true }))
  await chmod(former, 0o755)
  await mkdir(join(former, 'bin'), { mode: 0o755 })
  for (const name of ['lib', 'share', 'bin/postgres']) await symlink(join(bin, '..', name), join(former, name))
  await writeFile(join(former, 'bin/initdb'), `#!/bin/sh\nexec '${bin}/initdb' "$@" --wal-segsize=16\n`, {
    mode: 0o755,
  })
  return await world.open({ postgres_directories: [former] })
}

async function untilTaken(provider: LocalProvider, wanted: WantedService, snapshot_id: string): Promise<void> {
  await until(
    async () => {
      const { snapshots } = await provider.service.apply(wanted)
      return snapshots.some((one) => one.snapshot_id === snapshot_id && one.state === 'complete')
    },
    { what: `snapshot ${snapshot_id} is taken` },
  )
}

async function keepCopy(world: World, wanted: WantedService): Promise<void> {
  const home = homeOf(world, wanted)
  const { uid, gid } = await stat(join(home, 'data'))
  await copyTree(join(home, 'data'), join(home, 'kept'), { owner: { uid, gid } })
  await chown(join(home, 'kept'), uid, gid)
}

/** The kept copy takes the place of the data, and opens a new timeline at its next start. */
async function promoteCopy(world: World, wanted: WantedService): Promise<void> {
  const home = homeOf(world, wanted)
  const { uid, gid } = await stat(join(home, 'kept'))
  await rename(join(home, 'data'), join(home, 'left'))
  await rename(join(home, 'kept'), join(home, 'data'))
  const settings = `restore_command = '/bin/false'\nhot_standby = off\n`
  const files = { 'recovery.signal': '', 'postgresql.auto.conf': settings }
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(home, 'data', name), text, { mode: 0o600 })
    await chown(join(home, 'data', name), uid, gid)
  }
}

/** Ends the WAL file and waits until it has been archived. */
async function switchWal(world: World, wanted: WantedService): Promise<void> {
  const host = join(world.directory, 'run', wanted.service_id)
  const client = new pg.Client({ host, port: wanted.home.port, user: 'postgres', database: 'postgres' })
  await client.connect()
  await client.query(`select pg_logical_emit_message(false, 'test', ''), pg_switch_wal()`)
  await until(
    async () => {
      const { rows } = await client.query(`select from pg_ls_archive_statusdir() where name like '%.ready'`)
      return rows.length === 0
    },
    { what: 'the WAL is archived' },
  )
  await client.end()
}

async function rowsOfFork(provider: LocalProvider, source: NonNullable<WantedService['source']>): Promise<string> {
  const child = await newWanted(provider, { source })
  await settle(provider, child)
  return await ask(provider, child, 'select array_agg(n order by n) from t')
}
