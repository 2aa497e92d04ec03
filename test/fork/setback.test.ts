// Copies and replays when the world is not ready: a parent that crashed and cannot start, damaged WAL, a full disk, a
// server that stops in the middle of a copy, another process at work. Directly on the provider, pass by pass.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { open, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import type { Moment, ObservedService, ObservedSnapshot, WantedService } from '#providers/provider.ts'
import { ask, newWanted, postmasterPid, settle, useWorlds, type World } from '#test/provider/service-fixture.ts'
import { momentNow, until } from '#test/until.ts'
import { newParent } from './parent.ts'

const { newWorld } = useWorlds()
const snapshots = [{ snapshot_id: 'first', deleted: false }]

test('a parent that crashed and cannot start gives all that it had committed', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const parent = await newParent(provider)
  process.kill(await postmasterPid(world, parent), 'SIGKILL')
  const squatter = createServer()
  await until(() => listens(squatter, parent.home.port))
  onTestFinished(() => void squatter.close())
  const observed = await untilTaken(provider, { ...parent, snapshots })
  expect(observed).toMatchObject({ state: 'not_serving', settled: false })
  for (const moment of [{ snapshot_id: 'first' }, 'now'] as const) {
    const child = await newWanted(provider, { size: 'shared', source: sourceOf(parent, moment) })
    await settle(provider, child)
    expect(await ask(provider, child, 'select n from t')).toBe('1')
  }

  // And the same snapshot leads to every later moment of the parent.
  await new Promise((resolve) => squatter.close(resolve))
  await settle(provider, { ...parent, snapshots })
  await ask(provider, parent, 'update t set n = 2')
  const moment = await momentNow()
  await ask(provider, parent, 'update t set n = 3')
  const source = sourceOf(parent, { at: moment.toISOString() })
  const later = await newWanted(provider, { size: 'shared', source })
  await settle(provider, later)
  expect(await ask(provider, later, 'select n from t')).toBe('2')
})

test('a damaged or missing WAL file fails the fork with its name and what can be had, and is not tried again', async () => {
  const world = await newWorld()
  const effects: string[] = []
  const provider = await world.open({ effect: (name) => void effects.push(name) })
  const parent = await newParent(provider)
  await untilTaken(provider, { ...parent, snapshots })
  const bad = await fillSegments(world, parent, 3)
  const [archive, pg_wal] = ['archive', 'data/pg_wal'].map((at) =>
    join(world.directory, 'services', parent.service_id, at, bad),
  )
  const forkOf = () => {
    const source = sourceOf(parent, { at: new Date().toISOString() })
    return newWanted(provider, { size: 'shared', source })
  }

  const file = await open(archive ?? '', 'r+')
  await file.write(Buffer.alloc(16_384, 0xff), 0, 16_384, 16_384)
  await file.close()
  const child = await forkOf()
  const observed = await untilFailed(provider, child)
  expect(observed.waiting_for).toContain(`WAL file ${bad} `)
  expect(observed.waiting_for).toMatch(/can be restored is 20\S+Z to 20/)
  effects.length = 0
  expect(await provider.service.apply(child)).toMatchObject({ failed: true })
  expect(effects).not.toContain('postmaster: spawn')

  await rm(archive ?? '')
  await rm(pg_wal ?? '', { force: true })
  const other = await forkOf()
  const missed = await untilFailed(provider, other)
  expect(missed.waiting_for).toContain(`WAL file ${bad} `)
  expect(missed.waiting_for).toMatch(/can be restored is 20\S+Z to 20\S+Z/)
  effects.length = 0
  expect(await provider.service.apply(other)).toMatchObject({ failed: true, waiting_for: missed.waiting_for })
  expect(effects).toEqual([])
  expect(readdirSync(join(world.directory, 'services', other.service_id))).not.toContain('data.new')
})

test('a moment before a later snapshot needs no WAL from after that one', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const parent = await newParent(provider)
  await untilTaken(provider, { ...parent, snapshots })
  const target_time = new Date(Date.now() + 1).toISOString()
  await until(() => Date.now() > Date.parse(target_time) + 1)
  const both = [...snapshots, { snapshot_id: 'second', deleted: false }]
  await until(async () => {
    const observed = await provider.service.apply({ ...parent, snapshots: both })
    return observed.snapshots.every(({ state }) => state === 'complete')
  })
  const missing = await fillSegments(world, parent, 3)
  await rm(join(world.directory, 'services', parent.service_id, 'archive', missing))
  await rm(join(world.directory, 'services', parent.service_id, 'data/pg_wal', missing), { force: true })
  const child = await newWanted(provider, { size: 'shared', source: sourceOf(parent, { at: target_time }) })
  await settle(provider, child)
  expect(await ask(provider, child, 'select count(*) from t')).toBe('1')
})

test('a disk that is full anywhere leaves no half snapshot, the service serves on, and it is taken with the space', async () => {
  const world = await newWorld()
  let full_at: string | undefined
  const provider = await world.open({ effect: (name) => void (name === full_at && throwDiskFull()) })
  const parent = await newParent(provider)
  const taken: string[] = []
  for (const at of ['copy: files', 'copy: WAL', 'snapshot: rename into place']) {
    full_at = at
    const next = { snapshot_id: `snapshot${taken.length}`, deleted: false }
    const wanted = { ...parent, snapshots: [...taken.map((snapshot_id) => ({ snapshot_id, deleted: false })), next] }
    const observed = await until(async () => {
      const one = await provider.service.apply(wanted)
      return one.waiting_for !== undefined && one
    })
    const told = expect.stringMatching(/no space left/)
    expect(observed, at).toMatchObject({ state: 'serving', settled: true, waiting_for: told })
    expect(observed.look_again_seconds).toBeLessThanOrEqual(30)
    expect(await readdir(join(world.directory, 'services', parent.service_id, 'snapshots')), at).toEqual(taken)
    full_at = undefined
    await until(async () => (await provider.service.apply(wanted)).snapshots.every(({ state }) => state === 'complete'))
    taken.push(next.snapshot_id)
  }
})

test('a disk that is full anywhere is a setback of the fork, which completes when there is space', async () => {
  const world = await newWorld()
  let full_at: string | undefined
  const provider = await world.open({ effect: (name) => void (name === full_at && throwDiskFull()) })
  const parent = await newParent(provider)
  await untilTaken(provider, { ...parent, snapshots })
  for (const at of ['fork: copy snapshot', 'gathered WAL: copy', 'fork: rename into place']) {
    full_at = at
    const source = sourceOf(parent, { at: new Date().toISOString() })
    const child = await newWanted(provider, { size: 'shared', source })
    const observed = await until(async () => {
      const one = await provider.service.apply(child)
      return one.waiting_for?.includes('no space left') && one
    })
    expect(observed, at).toMatchObject({ state: 'absent', settled: false })
    expect(existsSync(join(world.directory, 'services', child.service_id, 'data.new'))).toBe(false)
    full_at = undefined
    await settle(provider, child)
    expect(await ask(provider, child, 'select n from t')).toBe('1')
  }
})

test('a copy whose server stops in the middle is made again', async () => {
  const world = await newWorld()
  let stop: (() => Promise<void>) | undefined
  const provider = await world.open({
    effect: async (name) => {
      if (name !== 'copy: end backup') return
      await stop?.()
      stop = undefined
    },
  })
  const parent = await newParent(provider)
  const pid = await postmasterPid(world, parent)
  stop = async () => {
    process.kill(pid, 'SIGINT')
    await until(() => !existsSync(`/proc/${pid}`))
  }
  await untilTaken(provider, { ...parent, snapshots })
  expect(stop).toBeUndefined()
  const child = await newWanted(provider, { size: 'shared', source: sourceOf(parent) })
  await settle(provider, child)
  expect(await ask(provider, child, 'select n from t')).toBe('1')
})

test('while another process copies standing data the service does not start, until that process is dead', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const parent = await newParent(provider)
  const off: WantedService = { ...parent, power: 'off', generation: 2 }
  await settle(provider, off)
  const other = spawn('sleep', ['600'], { stdio: 'ignore' })
  onTestFinished(() => void other.kill('SIGKILL'))
  const copying = join(world.directory, 'services', parent.service_id, 'copying')
  await writeFile(copying, `copying while it stands still\n${nameOf(other.pid ?? 0)}\n`)
  const waiting = await provider.service.apply({ ...parent, generation: 3 })
  expect(waiting).toMatchObject({ state: 'not_serving', settled: false, waiting_for: expect.stringMatching(/copied/) })
  expect(stateOf(await provider.service.apply({ ...off, snapshots }))).toBe('taking')
  other.kill('SIGKILL')
  await untilTaken(provider, { ...off, snapshots })
  await settle(provider, { ...parent, generation: 3 })
})

test('a pass that loses its lease while it copies standing data keeps no lock', async () => {
  const world = await newWorld()
  const lease = new AbortController()
  const provider = await world.open({
    effect: (name) => void (name === 'copy: files' && lease.abort(new Error('the lease was lost'))),
  })
  const parent = await newParent(provider)
  await settle(provider, { ...parent, power: 'off', generation: 2 })
  const child = await newWanted(provider, { size: 'shared', source: sourceOf(parent, 'now') })
  const pass = { signal: lease.signal }
  await expect(provider.service.apply(child, pass)).rejects.toThrow('the lease was lost')
  await settle(provider, { ...parent, generation: 3 })
  await settle(provider, child)
  expect(await ask(provider, child, 'select n from t')).toBe('1')
})

test('several forks of a parent that stands still are made one after the other, without a setback', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const parent = await newParent(provider)
  await settle(provider, { ...parent, power: 'off', generation: 2 })
  const source = sourceOf(parent, 'now')
  const children = await Promise.all([1, 2, 3].map(() => newWanted(provider, { size: 'shared', source })))
  const sentences = await Promise.all(
    children.map(async (child) => {
      const waited_for: (string | undefined)[] = []
      await until(async () => {
        const observed = await provider.service.apply(child)
        waited_for.push(observed.waiting_for)
        return observed.settled
      })
      return waited_for
    }),
  )
  expect(sentences.flat().filter((sentence) => sentence?.includes('could not'))).toEqual([])
  for (const child of children) expect(await ask(provider, child, 'select n from t')).toBe('1')
})

const sourceOf = ({ service_id }: WantedService, moment: Moment = { snapshot_id: 'first' }) => ({ service_id, moment })

const stateOf = ({ snapshots: [first] }: ObservedService): ObservedSnapshot['state'] | undefined => first?.state

const untilTaken = (provider: LocalProvider, wanted: WantedService) =>
  until(
    async () => {
      const observed = await provider.service.apply(wanted)
      return stateOf(observed) === 'complete' && observed
    },
    { what: 'the snapshot is complete' },
  )

const untilFailed = (provider: LocalProvider, wanted: WantedService) =>
  until(
    async () => {
      const observed = await provider.service.apply(wanted)
      return observed.failed && observed
    },
    { what: 'the fork fails for good' },
  )

/** Writes and switches so often, and returns the name of the last but one archived segment when all are archived. */
async function fillSegments(world: World, parent: WantedService, count: number): Promise<string> {
  const { service_id, home } = parent
  const host = join(world.directory, 'run', service_id)
  const client = new pg.Client({ host, port: home.port, user: 'postgres', database: 'tsdb' })
  await client.connect()
  const names: string[] = []
  for (let at = 0; at < count; at++) {
    await client.query('insert into t select generate_series(1, 1000)')
    const { rows } = await client.query<{ name: string }>('select pg_walfile_name(pg_switch_wal()) as name')
    names.push(rows[0]?.name ?? '')
  }
  await client.end()
  const archive = join(world.directory, 'services', service_id, 'archive')
  await until(() => names.every((name) => existsSync(join(archive, name))))
  return names.at(-2) ?? ''
}

function throwDiskFull(): never {
  throw Object.assign(new Error('full'), { code: 'ENOSPC' })
}

/** Of a process, as holds name it. */
function nameOf(pid: number): string {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  const started = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[19]
  return `${boot}/${readlinkSync('/proc/self/ns/pid')}/${pid}/${started}`
}

async function listens(server: ReturnType<typeof createServer>, port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => resolve(true))
  })
}
