// Bench: forks NOW of idle and busy parents, and forks to a moment, against the same made by hand in the same run; the disk
// that a fresh fork takes; and what archiving costs in transactions. `--gb 1,5` chooses the sizes, `--mount` the disk.
import { execFileSync } from 'node:child_process'
import { constants, copyFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { archiveCost } from './fork-archive.ts'
import { floorFork, floorReplay } from './fork-floor.ts'
import { ask, newParent, type Parent, takeSnapshot, underWrites, untilNoCopies } from './fork-parent.ts'
import { atMost, type Figure, medianOf, printFigures, spread, timed } from './figures.ts'
import { type Bench, withHowdah } from './howdah.ts'
import { inPlace } from './place.ts'

/** Of the size of the database: how much WAL lies between the snapshot and the moment. */
const wal_share = 0.3
const waiting_sql = `select count(*) from pg_ls_archive_statusdir() where name like '%.ready'`

await inPlace(5, async ({ folder, description, runs, gb }) => {
  const figures: Figure[] = []
  await withHowdah(join(folder, 'howdah'), async (bench) => {
    for (const size of gb) figures.push(...(await figuresOf(bench, folder, runs, size)))
  })
  figures.push(await archiveCost(folder, runs))
  printFigures(`fork, ${runs} runs on ${description}`, figures)
})

async function figuresOf(bench: Bench, folder: string, runs: number, gb: number): Promise<Figure[]> {
  const parent = await newParent(bench, gb)
  const now = () => forkOnce(bench, parent, { fork_strategy: 'NOW' })
  const byHand = () => floorFork(parent, folder)
  const idle = await compare(bench, parent, runs, byHand, now)
  const grown = await growthOf(bench, parent, folder)
  const replayed = await replay(bench, parent, folder, runs, gb)
  const busy = await underWrites(parent, () => compare(bench, parent, runs, byHand, now))
  await bench.remove(parent.service_id)
  await bench.waitFor(parent.service_id, 'gone')
  return [
    figureOf(`fork NOW, ${gb} GB, idle`, idle),
    figureOf(`fork NOW, ${gb} GB, under writes`, busy),
    {
      what: `disk of a fresh fork, ${gb} GB`,
      ours: `${(grown * 100).toFixed(1)} %`,
      // Where files cannot share blocks, a copy takes what it takes.
      ...(sharesBlocks(folder) && { goal: atMost(2, grown * 100, ' %') }),
    },
    replayed,
  ]
}

type Compared = { floor: number[]; ours: number[] }

async function compare(
  bench: Bench,
  parent: Parent,
  runs: number,
  byHand: () => Promise<number>,
  byHowdah: () => Promise<number>,
): Promise<Compared> {
  const compared: Compared = { floor: [], ours: [] }
  await byHowdah()
  for (let run = 0; run < runs; run += 1) {
    await untilNoCopies(bench, parent)
    compared.floor.push(await byHand())
    compared.ours.push(await byHowdah())
  }
  return compared
}

function figureOf(what: string, { floor, ours }: Compared): Figure {
  const ratio = medianOf(ours) / medianOf(floor)
  return { what, floor: spread(floor, 'ms'), ours: spread(ours, 'ms'), ratio, goal: atMost(1.5, ratio) }
}

/** Milliseconds from the request to READY; the fork is gone again afterwards. */
async function forkOnce(bench: Bench, parent: Parent, input: object): Promise<number> {
  let service_id = ''
  const took_ms = await timed(async () => {
    service_id = (await bench.forkService(parent.service_id, input)).service_id
    await bench.waitFor(service_id, 'READY')
  })
  await bench.remove(service_id)
  await bench.waitFor(service_id, 'gone')
  return took_ms
}

/** How much of the parent's size a fork takes on the disk at the moment it is READY. */
async function growthOf(bench: Bench, parent: Parent, folder: string): Promise<number> {
  await untilNoCopies(bench, parent)
  const before = usedBytes(folder)
  const { service_id } = await bench.forkService(parent.service_id, { fork_strategy: 'NOW' })
  await bench.waitFor(service_id, 'READY')
  const grown = usedBytes(folder) - before
  await bench.remove(service_id)
  await bench.waitFor(service_id, 'gone')
  return grown / Number(await ask(parent, `select sum(pg_database_size(oid)) from pg_database`))
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
  for (let part = 0; (await written()) < gb * 1e9 * wal_share; part += 1) {
    await ask(parent, `update accounts set balance = balance + 1 where id % 100 = ${part % 100}`)
  }
  const wal_gb = (await written()) / 1e9
  const target = await ask(parent, 'select clock_timestamp()::text')
  // By hand the target must have been archived; ours sees to it by itself.
  await ask(parent, 'update accounts set balance = balance + 1 where id = 1')
  await ask(parent, 'select pg_switch_wal()')
  while ((await ask(parent, waiting_sql)) !== '0') await new Promise((resolve) => setTimeout(resolve, 20))
  const input = { fork_strategy: 'PITR', target_time: new Date(target).toISOString() }
  const compared = await compare(
    bench,
    parent,
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
