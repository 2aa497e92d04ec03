// Bench: forks NOW of idle and busy parents, and forks to a moment, against the same made by hand in the same run; the disk
// that a fresh fork takes; and what archiving costs in transactions. `--gb 1,5` chooses the sizes, `--mount` the disk.
import { execFileSync } from 'node:child_process'
import { constants, copyFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { archiveCost } from './fork-archive.ts'
import { floorFork, floorReplay } from './fork-floor.ts'
import { ask, newParent, type Parent, takeSnapshot, underWrites, untilNoCopies } from './fork-parent.ts'
import { atMost, type Figure, medianOf, printFigures, say, spread, timed } from './figures.ts'
import { type Bench, withHowdah } from './howdah.ts'
import { inPlace } from './place.ts'

/** How much WAL lies between the snapshot and the moment: of the size of the database, and at most. */
const wal_share = 0.3
const wal_gb_max = 0.3
/** After its first snapshot: by then what it writes has come to rest. */
const rest_ms = 9_000
const rest_before_ms = 300
/** Forks of idle parents take a fraction of a second, in which a shared machine does much else: more of them are made. */
const idle_runs_per_run = 3
/** A server runs for weeks: what its first forks take for its code to be compiled is another figure (some 30 ms). */
const forks_before = 12
/** Where a fork takes long, that does not matter. */
const before_ms_max = 20_000
const waiting_sql = `select count(*) from pg_ls_archive_statusdir() where name like '%.ready'`

await inPlace(5, async ({ folder, description, runs, gb }) => {
  const figures: Figure[] = []
  await withHowdah(join(folder, 'howdah'), async (bench) => {
    const all: Sized[] = []
    for (const size of gb) {
      say(`${size} GB: the parent is filled`)
      all.push({ gb: size, parent: await newParent(bench, size) })
    }
    const [smallest, largest] = [all[0], all.at(-1)]
    if (smallest && largest && smallest !== largest && sharesBlocks(folder)) {
      figures.push(await growthWithSize(bench, runs, smallest, largest))
    }
    for (const one of all) figures.push(...(await figuresOf(bench, folder, runs, one)))
  })
  say('archiving')
  figures.push(...(await archiveCost(folder, runs)))
  printFigures(`fork, ${runs} runs (${runs * idle_runs_per_run} of idle parents) on ${description}`, figures)
})

/** It takes minutes: it prints what it is waiting for. */
type Sized = { gb: number; parent: Parent }

async function figuresOf(bench: Bench, folder: string, runs: number, { parent, gb }: Sized): Promise<Figure[]> {
  const now = (how: How) => forkNow(bench, parent, how)
  const byHand = () => floorFork(parent, folder)
  await forkBefore(bench, parent)
  say(`${gb} GB: forks NOW, idle`)
  const idle = await compare(bench, [parent], runs * idle_runs_per_run, byHand, () => now('waiting'))
  const polled = await compare(bench, [parent], runs * idle_runs_per_run, byHand, () => now('polling'))
  say(`${gb} GB: the disk of a fork`)
  const grown = await growthOf(bench, parent, folder)
  say(`${gb} GB: forks to a moment`)
  const replayed = await replay(bench, parent, folder, runs, gb)
  say(`${gb} GB: forks NOW, under writes`)
  const busy = await underWrites(parent, () => compare(bench, [parent], runs, byHand, () => now('waiting')))
  await bench.remove(parent.service_id)
  await bench.waitFor(parent.service_id, 'removed')
  return [
    figureOf(`fork NOW, ${gb} GB, idle`, idle),
    figureOf('the same, seen by a client that polls', polled),
    figureOf(`fork NOW, ${gb} GB, under writes`, busy),
    {
      what: `disk of a fresh fork, ${gb} GB`,
      ours: `${percent(grown.at_rest)} (${percent(grown.when_ready)} at the moment that it is READY)`,
      // Where files cannot share blocks, a copy takes what it takes.
      ...(sharesBlocks(folder) && { goal: atMost(5, grown.at_rest * 100, ' %') }),
    },
    replayed,
  ]
}

async function forkBefore(bench: Bench, parent: Parent): Promise<void> {
  const end = performance.now() + before_ms_max
  for (let before = 0; before < forks_before && performance.now() < end; before += 1) await forkNow(bench, parent)
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

/** Forks of both, in turns. */
async function growthWithSize(bench: Bench, runs: number, small: Sized, large: Sized): Promise<Figure> {
  const what = `fork NOW, idle, ${large.gb} GB against ${small.gb} GB`
  const parents = [small.parent, large.parent]
  for (const parent of parents) await forkBefore(bench, parent)
  say(what)
  const of = (one: Sized) => () => forkNow(bench, one.parent)
  const { floor, ours } = await compare(bench, parents, runs * idle_runs_per_run, of(small), of(large))
  const ratio = medianOf(ours) / medianOf(floor)
  return { what, floor: spread(floor, 'ms'), ours: spread(ours, 'ms'), ratio, goal: atMost(1.1, ratio) }
}

type How = 'polling' | 'waiting'
type Compared = { floor: number[]; ours: number[] }

async function compare(
  bench: Bench,
  parents: readonly Parent[],
  runs: number,
  byHand: () => Promise<number>,
  byHowdah: () => Promise<number>,
): Promise<Compared> {
  const compared: Compared = { floor: [], ours: [] }
  // Each begins at rest: what the one before removed is still being cleared away by the file system, and archived.
  const rest = async () => {
    for (const parent of parents) await untilNoCopies(bench, parent)
    execFileSync('sync', ['-f', bench.data_dir])
    await pause(rest_before_ms)
  }
  for (let run = 0; run < runs; run += 1) {
    await rest()
    compared.floor.push(await byHand())
    await rest()
    compared.ours.push(await byHowdah())
  }
  return compared
}

function figureOf(what: string, { floor, ours }: Compared): Figure {
  const ratio = medianOf(ours) / medianOf(floor)
  return { what, floor: spread(floor, 'ms'), ours: spread(ours, 'ms'), ratio, goal: atMost(2, ratio) }
}

async function forkNow(bench: Bench, parent: Parent, how?: How): Promise<number> {
  return await forkOnce(bench, parent, { fork_strategy: 'NOW' }, how)
}

/** Milliseconds from the request to READY; the fork is removed afterwards. */
async function forkOnce(bench: Bench, parent: Parent, input: object, how: How = 'waiting'): Promise<number> {
  let service_id = ''
  const took_ms = await timed(async () => {
    service_id = (await bench.forkService(parent.service_id, input)).service_id
    await bench.waitFor(service_id, 'READY', how)
  })
  await bench.remove(service_id)
  await bench.waitFor(service_id, 'removed')
  return took_ms
}

/**
 * How much of the parent's size a fork takes on the disk: at the moment it is READY, and with its first snapshot, at rest. That
 * is what comes back when it goes: the parent gives back WAL files too, but not in this moment.
 */
async function growthOf(
  bench: Bench,
  parent: Parent,
  folder: string,
): Promise<{ when_ready: number; at_rest: number }> {
  const size = Number(await ask(parent, `select sum(pg_database_size(oid)) from pg_database`))
  const share = async (until: (service_id: string) => Promise<void>) => {
    const { service_id } = await bench.forkService(parent.service_id, { fork_strategy: 'NOW' })
    await bench.waitFor(service_id, 'READY')
    await until(service_id)
    const with_fork = usedBytes(folder)
    await bench.remove(service_id)
    await bench.waitFor(service_id, 'removed')
    return (with_fork - usedBytes(folder)) / size
  }
  const when_ready = await share(async () => undefined)
  const at_rest = await share(async (service_id) => {
    // Also what the fork has left at its parent, which stays when it goes.
    for (const one of [{ service_id }, parent]) await untilNoCopies(bench, one)
    await pause(rest_ms)
  })
  return { when_ready, at_rest }
}

function sharesBlocks(folder: string): boolean {
  const [file, copy] = [join(folder, 'file'), join(folder, 'copy')]
  writeFileSync(file, 'x'.repeat(65_536))
  try {
    copyFileSync(file, copy, constants.COPYFILE_FICLONE_FORCE)
    return true
  } catch {
    return false
  } finally {
    for (const path of [file, copy]) rmSync(path, { force: true })
  }
}

function usedBytes(folder: string): number {
  execFileSync('sync', ['-f', folder])
  const { blocks, bfree, bsize } = statfsSync(folder)
  return (blocks - bfree) * bsize
}

async function replay(bench: Bench, parent: Parent, folder: string, runs: number, gb: number): Promise<Figure> {
  const snapshot = await takeSnapshot(bench, parent)
  const start = await ask(parent, 'select pg_current_wal_lsn()')
  const written = async () => Number(await ask(parent, `select pg_wal_lsn_diff(pg_current_wal_lsn(), '${start}')`))
  const enough = Math.min(gb * wal_share, wal_gb_max) * 1e9
  for (let part = 0; (await written()) < enough; part += 1) {
    await ask(parent, `update accounts set balance = balance + 1 where id % 100 = ${part % 100}`)
  }
  const wal_gb = (await written()) / 1e9
  const target = await ask(parent, 'select clock_timestamp()::text')
  // By hand the target must have been archived; ours sees to it by itself.
  await ask(parent, 'update accounts set balance = balance + 1 where id = 1')
  await ask(parent, 'select pg_switch_wal()')
  while ((await ask(parent, waiting_sql)) !== '0') await pause(20)
  const input = { fork_strategy: 'PITR', target_time: new Date(target).toISOString() }
  const compared = await compare(
    bench,
    [parent],
    runs,
    () => floorReplay(parent, folder, snapshot.id, target),
    () => forkOnce(bench, parent, input),
  )
  const what = `fork to a moment, ${gb} GB and ${wal_gb.toFixed(2)} GB of WAL`
  const perGb = (values: number[]) =>
    spread(
      values.map((ms) => ms / 1000 / wal_gb),
      's/GB',
    )
  const ratio = medianOf(compared.ours) / medianOf(compared.floor)
  return { what, floor: perGb(compared.floor), ours: perGb(compared.ours), ratio, goal: atMost(1.5, ratio) }
}
