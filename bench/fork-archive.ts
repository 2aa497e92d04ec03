// What archiving costs: commits a second of a plain PostgreSQL with the archive settings and the size of WAL files that every
// service has, against the same without. They take many short turns on one data directory, and each turn with archiving is
// compared with those before and after it: a disk that is slow for a while is slow for all. How far turns without archiving
// differ from each other says how much of the figure may be chance.
import { chownSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { wal_segment_mb } from '#providers/local/postgres/template.ts'
import { atLeast, type Figure, spread } from './figures.ts'
import { initdb, openPlain, type PlainPostgres, startPlain, stopPlain, withPlainPostgres } from './plain-postgres.ts'

const clients = 4
const seconds = 2
const rounds_per_run = 6

export async function archiveCost(folder: string, runs: number): Promise<Figure[]> {
  return await withPlainPostgres(join(folder, 'archiving'), async (it) => {
    await initdb(it, [`--wal-segsize=${wal_segment_mb}`])
    const archive = join(it.folder, 'archive')
    const { uid, gid } = statSync(it.folder)
    mkdirSync(archive, { mode: 0o700 })
    chownSync(archive, uid, gid)
    const on = `-c archive_mode=on -c archive_library=basic_archive -c basic_archive.archive_directory=${archive}`
    const [before, during, after]: [number[], number[], number[]] = [[], [], []]
    await perSecond(it, '')
    for (let round = 0; round < runs * rounds_per_run; round += 1) {
      before.push(await perSecond(it, ''))
      during.push(await perSecond(it, on))
      after.push(await perSecond(it, ''))
    }
    const without = [...before, ...after]
    const ratio = sum(during) / (sum(without) / 2)
    const compared = { floor: spread(without, '/s'), ours: spread(during, '/s') }
    return [
      { what: 'commits with archiving', ...compared, ratio, goal: atLeast(0.95, ratio) },
      {
        what: 'commits without, against without',
        floor: spread(before, '/s'),
        ours: spread(after, '/s'),
        ratio: sum(after) / sum(before),
      },
    ]
  })
}

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0)

async function perSecond(it: PlainPostgres, options: string): Promise<number> {
  await startPlain(it, options)
  await prepare(it)
  const end = performance.now() + seconds * 1000
  const one = async () => {
    const client = await openPlain(it)
    let commits = 0
    for (; performance.now() < end; commits += 1) {
      await client.query(`insert into t values ($1, repeat('x', 2000))`, [commits])
    }
    await client.end()
    return commits
  }
  const counts = await Promise.all(Array.from({ length: clients }, one))
  await stopPlain(it)
  return sum(counts) / seconds
}

/** Every turn begins with nothing written and nothing left to write. */
async function prepare(it: PlainPostgres): Promise<void> {
  const client = await openPlain(it)
  await client.query('drop table if exists t')
  await client.query('create table t (n int, filler text)')
  await client.query('checkpoint')
  await client.end()
}
