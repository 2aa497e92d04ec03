// A primary that is lost is replaced by a replica that has everything, and comes back as a replica itself.
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { signalIfThere } from '#providers/host/daemon.ts'
import type { LocalProvider } from '#providers/local/local.ts'
import type { WantedService } from '#providers/provider.ts'
import { ask, loginTo, newWanted, settle, useWorlds } from '#test/provider/service-fixture.ts'
import {
  dataOf,
  homeOf,
  leaveToArchive,
  nodePid,
  standbysOf,
  walReceiverOf,
  withReplicas,
} from '#test/provider/standby-fixture.ts'
import { until } from '#test/until.ts'
import { kindsUntilSettled, newHa, primaryOf, wordsOf } from './ha-fixture.ts'

const { newWorld } = useWorlds()

test('a killed primary is replaced with every commit, the lost one follows as it lies there, and so on', async () => {
  const ha = await newHa(1, 1)
  const { world, provider, wanted } = ha
  for (const [round, lost] of [0, 1, 0].entries()) {
    const session = await loginTo(provider, wanted)
    await session.query(`insert into kept values ('round ${round}')`)
    process.kill(await nodePid(world, wanted, lost), 'SIGKILL')
    const kinds = await kindsUntilSettled(ha)
    expect(kinds).toEqual(expect.arrayContaining(['primary lost', 'fenced', 'elected', 'promoted']))
    expect(kinds).not.toContain('replica')
    await session.end().catch(() => undefined)
    expect(await primaryOf(ha)).toMatchObject({ node: 1 - lost, term: round + 2 })
    expect(await standbysOf(provider, wanted)).toEqual({ [`node_${lost}`]: 'streaming' })
  }
  expect(await wordsOf(ha)).toBe('round 0,round 1,round 2')
})

test('a pass that fails is not over before the start of the lost primary as a replica is', async () => {
  const told: string[] = []
  const starts = Promise.withResolvers<void>()
  let is_armed = false
  const effect = async (name: string) => {
    if (!is_armed) return
    if (name === 'replica: promote') {
      await starts.promise
      throw new Error('no promotion yet')
    }
    if (name !== 'postmaster: spawn') return
    starts.resolve()
    await until(() => told.includes('the pass is over'), { timeout_ms: 1000 }).catch(() => undefined)
    told.push('the replica starts')
  }
  const ha = await newHa(1, 1, { effect })
  const { world, provider, wanted } = ha
  is_armed = true
  process.kill(await nodePid(world, wanted, 0), 'SIGKILL')
  await expect(provider.service.apply(wanted)).rejects.toThrow('no promotion yet')
  told.push('the pass is over')
  await until(() => told.includes('the replica starts'))
  expect(told).toEqual(['the replica starts', 'the pass is over'])
  is_armed = false
  await kindsUntilSettled(ha)
  expect(await standbysOf(provider, wanted)).toEqual({ node_0: 'streaming' })
})

test('a node that was lost on its way to be the primary follows the next one as it lies there', async () => {
  let lose: (() => Promise<void>) | undefined
  const effect = async (name: string) => {
    if (name === 'replica: promote') await lose?.()
  }
  const ha = await newHa(2, 1, { effect })
  const { world, provider, wanted } = ha
  await ask(provider, wanted, `insert into kept values ('before')`)
  let lost = 0
  lose = async () => {
    lose = undefined
    lost = (await primaryOf(ha)).node
    process.kill(await nodePid(world, wanted, lost), 'SIGKILL')
  }
  process.kill(await nodePid(world, wanted, 0), 'SIGKILL')
  await provider.service.apply(wanted).catch(() => undefined)
  expect(lost).not.toBe(0)
  const kinds = await kindsUntilSettled(ha)
  expect(kinds).toContain('elected')
  expect(kinds).not.toContain('replica')
  expect((await primaryOf(ha)).node).not.toBe(lost)
  expect(await wordsOf(ha)).toBe('before')
  const written = await ask(provider, wanted, `insert into kept values ('after') returning pg_current_wal_insert_lsn()`)
  const following = `select count(*) from pg_stat_replication
    where application_name = 'node_${lost}' and replay_lsn >= '${written}'`
  await until(async () => (await ask(provider, wanted, following)) === '1', {
    what: `node ${lost} replays what is written`,
  })
})

test('what a primary wrote and had not sent is not lost with it either, when its data is still there', async () => {
  const ha = await newHa(1, 0)
  const { world, provider, wanted } = ha
  const standby = await nodePid(world, wanted, 1)
  const receiver = await walReceiverOf(standby)
  process.kill(receiver, 'SIGSTOP')
  await ask(provider, wanted, `insert into kept values ('not sent')`)
  process.kill(await nodePid(world, wanted, 0), 'SIGKILL')
  process.kill(receiver, 'SIGCONT')
  const kinds = await kindsUntilSettled(ha)
  expect(kinds).toContain('elected')
  expect(kinds).not.toContain('replica')
  expect(await wordsOf(ha)).toBe('not sent')
})

test('a replica that still reads the archive does not take over: the lost primary has what comes after that', async () => {
  const ha = await newHa(1, 0)
  const { world, provider, wanted } = ha
  const receiver = await walReceiverOf(await nodePid(world, wanted, 1))
  process.kill(receiver, 'SIGSTOP')
  onTestFinished(() => signalIfThere(receiver, 'SIGCONT'))
  await ask(provider, wanted, `insert into kept values ('archived')`)
  await leaveToArchive(world, wanted)
  await ask(provider, wanted, `insert into kept values ('not archived')`)
  process.kill(await nodePid(world, wanted, 0), 'SIGKILL')
  const { events } = await provider.service.apply(wanted)
  expect(events.map(({ kind }) => kind)).toEqual(['primary lost', 'fenced', 'not replaced', 'restarted'])
  process.kill(receiver, 'SIGCONT')
  await settle(provider, wanted)
  expect(await wordsOf(ha)).toBe('archived,not archived')
})

/** A service whose primary can be made to die at an effect of this name; from then on `effects` are those after it. */
async function newDoomed(at: string) {
  const world = await newWorld()
  const effects: string[] = []
  let die: (() => Promise<void>) | undefined
  const provider = await world.open({
    effect: async (name) => {
      effects.push(name)
      if (name === at) await die?.()
    },
  })
  const wanted = withReplicas(await newWanted(provider, { size: 'shared' }), 1, 1, 1)
  await settle(provider, wanted)
  const primary = await nodePid(world, wanted, 0)
  const doom = (before: () => Promise<unknown> = async () => {}) => {
    effects.length = 0
    die = async () => {
      die = undefined
      await before()
      process.kill(primary, 'SIGKILL')
      await until(async () => !(await isAlive(primary)))
      effects.length = 0
    }
  }
  const lives = () => die !== undefined
  return { world, provider, wanted, effects, doom, lives }
}

const snapshotsOf = (...ids: string[]) => ids.map((snapshot_id) => ({ snapshot_id, deleted: false }))

/** What happens until all snapshots that are wanted are there. */
async function kindsUntilTaken(provider: LocalProvider, wanted: WantedService): Promise<string[]> {
  const kinds: string[] = []
  await until(async () => {
    const { events, snapshots } = await provider.service.apply(wanted)
    kinds.push(...events.map(({ kind }) => kind))
    return snapshots.length > 0 && snapshots.every(({ state }) => state === 'complete')
  })
  return kinds
}

test('a primary that dies between two snapshots is replaced before the next one is taken', async () => {
  const { provider, wanted, effects, doom, lives } = await newDoomed('snapshot: rename into place')
  // The last thing that a pass does to a service itself: from there on it is about snapshots only.
  doom(() => until(() => effects.includes('limits: set')))
  const more = { ...wanted, snapshots: snapshotsOf('first', 'second') }
  const observed = await provider.service.apply(more)
  expect(lives()).toBe(false)
  expect(effects).not.toContain('copy: files')
  const kinds = [...observed.events.map(({ kind }) => kind), ...(await kindsUntilTaken(provider, more))]
  expect(kinds).toContain('elected')
})

test('a primary that dies just before a snapshot of it begins is replaced before it is copied', async () => {
  const { world, provider, wanted, effects, doom, lives } = await newDoomed('snapshots: make')
  doom()
  await rm(join(homeOf(world, wanted), 'snapshots'), { recursive: true })
  expect(await kindsUntilTaken(provider, { ...wanted, snapshots: snapshotsOf('first') })).toContain('elected')
  expect(lives()).toBe(false)
  expect(effects.indexOf('primary: rename into place')).toBeLessThan(effects.indexOf('copy: files'))
})

test('a busy session of a lost primary is ended before another one takes over', async () => {
  const ha = await newHa(1, 1)
  const { world, provider, wanted } = ha
  const session = await loginTo(provider, wanted)
  const { rows } = await session.query<{ pid: number }>('select pg_backend_pid() as pid')
  // Bound to the processor, it does not notice by itself that its postmaster is dead.
  const endless = session
    .query('select count(*) from generate_series(1, 1000000000000)')
    .catch((error: unknown) => error)
  await until(
    async () =>
      (await ask(provider, wanted, `select count(*) from pg_stat_activity where query like '%10000000%'`)) === '2',
  )
  process.kill(await nodePid(world, wanted, 0), 'SIGKILL')
  expect(await kindsUntilSettled(ha)).toContain('elected')
  expect(await isAlive(rows[0]?.pid ?? 0)).toBe(false)
  expect(await endless).toBeInstanceOf(Error)
  await session.end().catch(() => undefined)
})

test('a primary that hangs is replaced, and one whose directory was moved away or emptied while it ran', async () => {
  const ha = await newHa(1, 1)
  const { world, provider, wanted } = ha
  await ask(provider, wanted, `insert into kept values ('before it hung')`)
  const hung = await nodePid(world, wanted, 0)
  process.kill(hung, 'SIGSTOP')
  expect(await kindsUntilSettled(ha)).toContain('elected')
  expect(await isAlive(hung)).toBe(false)

  await ask(provider, wanted, `insert into kept values ('before it went')`)
  const moved = await nodePid(world, wanted, 1)
  await mkdir(join(world.directory, 'elsewhere'))
  await rename(dataOf(world, wanted, 1), join(world.directory, 'elsewhere', 'data'))
  expect(await kindsUntilSettled(ha)).toContain('elected')
  expect(await isAlive(moved)).toBe(false)
  expect(await standbysOf(provider, wanted)).toEqual({ node_1: 'streaming' })

  await ask(provider, wanted, `insert into kept values ('before it was emptied')`)
  for (const name of await readdir(dataOf(world, wanted, 0))) {
    await rm(join(dataOf(world, wanted, 0), name), { recursive: true, force: true })
  }
  expect(await kindsUntilSettled(ha)).toContain('elected')
  expect(await wordsOf(ha)).toBe('before it hung,before it was emptied,before it went')
  expect(await standbysOf(provider, wanted)).toEqual({ node_0: 'streaming' })
})

test('no replica takes over that may lack a commit: without enough replicas the lost primary is started again', async () => {
  const ha = await newHa(2, 1)
  const { world, provider, wanted } = ha
  await ask(provider, wanted, `insert into kept values ('kept')`)
  // Only one of the two may have had it.
  const standby = await nodePid(world, wanted, 2)
  await rename(dataOf(world, wanted, 2), join(homeOf(world, wanted), 'elsewhere'))
  process.kill(standby, 'SIGKILL')
  process.kill(await nodePid(world, wanted, 0), 'SIGKILL')
  const kinds = await kindsUntilSettled(ha)
  expect(kinds).toContain('not replaced')
  expect(kinds).not.toContain('elected')
  expect(await primaryOf(ha)).toEqual({})
  expect(await wordsOf(ha)).toBe('kept')
})

test('when every process is killed at once, as by a reboot, the primary stays the same', async () => {
  const ha = await newHa(1, 1)
  const { world, provider, wanted } = ha
  await ask(provider, wanted, `insert into kept values ('kept')`)
  for (const node of [0, 1]) process.kill(await nodePid(world, wanted, node), 'SIGKILL')
  expect(await kindsUntilSettled(ha)).not.toContain('elected')
  expect(await primaryOf(ha)).toEqual({})
  expect(await wordsOf(ha)).toBe('kept')
})

/** A process without a command line is dead, reaped or not. */
async function isAlive(pid: number): Promise<boolean> {
  return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')) !== ''
}
