// Bench: what backups cost commits, and how long it takes to come back: from the repository against `restic restore` by hand, from a
// deletion, and in a drill against a fork to a moment, from the repository and without one. `--services 4 --gb 1` chooses what is restored. All services but the first are
// forks of it: what the repository stores is small then, and what is restored is not. How much a lost machine loses, bench/losses.ts has.
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { call, initRepository, protectionOf, restore, untilCopied } from './copied.ts'
import { listSnapshots, login, newParent, type Parent, takeSnapshot } from './fork-parent.ts'
import { atLeast, atMost, type Figure, medianOf, printFigures, say, spread, timed } from './figures.ts'
import { type Bench, withHowdah } from './howdah.ts'
import { inPlace, type Place } from './place.ts'

/** As without the setting. */
const lag_seconds = 60
const services_max = 20
const turns = 4
const turn_ms = 20_000

await inPlace(
  turns,
  async ({ folder, description, gb, services }) => {
    const [size, count] = [gb[0] ?? 1, Math.min(services, services_max)]
    const target = join(folder, 'repository')
    const env = {
      HOWDAH_BACKUP_TO: `file://${target}`,
      HOWDAH_BACKUP_LAG: String(lag_seconds),
    }
    const figures: Figure[] = []
    let key = ''
    await withHowdah(
      join(folder, 'howdah'),
      async (bench) => {
        key = await initRepository(bench, target)
        const forks: string[] = []
        say(`a service is filled with ${size} GB`)
        const first = await newParent(bench, size)
        await keepNewest(bench, first, await takeSnapshot(bench, first))
        say(`${count - 1} forks are made of it, and all are copied`)
        for (let made = 1; made < count; made += 1) {
          const { service_id } = await bench.forkService(first.service_id, { fork_strategy: 'NOW' })
          await bench.waitFor(service_id, 'READY')
          forks.push(service_id)
        }
        for (const service_id of [first.service_id, ...forks]) await untilCopied(bench, { service_id })
        figures.push(await commitCost(bench, first))
        figures.push(...(await drillFigures(bench, first, folder, { target, key })))
        figures.push(await undeleteTime(bench, first))
      },
      env,
      '1h',
    )
    figures.push(await restoreTime(folder, { target, key }))
    await withHowdah(join(folder, 'alone'), async (bench) => {
      say(`a service without a repository is filled with ${size} GB`)
      const alone = await newParent(bench, size)
      await takeSnapshot(bench, alone)
      figures.push(...(await drillFigures(bench, alone, folder)))
    })
    printFigures(`backup, ${count} services of ${size} GB, on ${description}`, figures)
  },
  restoredGbOf,
)

/** All services are restored: by hand, and when that is removed by us. */
function restoredGbOf({ gb, services }: Pick<Place, 'gb' | 'services'>): number {
  return Math.min(services, services_max) * (gb[0] ?? 1)
}

/** Its archive is pruned then: what is restored is its data, and little WAL. */
async function keepNewest(bench: Bench, parent: Parent, newest: { id: string }): Promise<void> {
  const older = (await listSnapshots(bench, parent)).filter(({ id }) => id !== newest.id)
  for (const { id } of older) await call(bench, 'DELETE', `services/${parent.service_id}/snapshots/${id}`)
}

/** The server that makes the backups is stopped for every other turn. */
async function commitCost(bench: Bench, parent: Parent): Promise<Figure> {
  say('commits with backups and without')
  const [without, during]: [number[], number[]] = [[], []]
  for (let turn = 0; turn < turns; turn += 1) {
    process.kill(bench.pid, 'SIGSTOP')
    // What it began goes on to its end.
    await pause(3_000)
    without.push(await commitsPerSecond(parent))
    process.kill(bench.pid, 'SIGCONT')
    await pause(3_000)
    during.push(await commitsPerSecond(parent))
  }
  const ratio = medianOf(during) / medianOf(without)
  const compared = { floor: spread(without, '/s'), ours: spread(during, '/s') }
  return { what: 'commits with backups', ...compared, ratio, goal: atLeast(0.95, ratio) }
}

async function commitsPerSecond(parent: Parent): Promise<number> {
  const client = await login(parent)
  await client.query('create table if not exists written (n int, filler text)')
  let commits = 0
  for (const end = performance.now() + turn_ms; performance.now() < end; commits += 1) {
    await client.query(`insert into written values ($1, repeat('x', 500))`, [commits])
  }
  await client.end()
  return commits / (turn_ms / 1000)
}

type Repository = { target: string; key: string }

/** In turns, of the same snapshot: a fork, a drill and, where there is a repository, what restic alone takes to give it back. */
async function drillFigures(bench: Bench, parent: Parent, folder: string, repository?: Repository): Promise<Figure[]> {
  const from = repository === undefined ? 'its own snapshot' : 'the repository'
  say(`forks to a moment, and drills from ${from}`)
  const [forks, drills, by_hand]: [number[], number[], number[]] = [[], [], []]
  for (let turn = 0; turn < turns; turn += 1) {
    if (repository) await untilCopied(bench, parent)
    const target_time = new Date(Date.now() - 1_000).toISOString()
    forks.push(
      await timed(async () => {
        const fork = await bench.forkService(parent.service_id, { fork_strategy: 'PITR', target_time })
        await bench.waitFor(fork.service_id, 'READY')
      }),
    )
    const before = (await protectionOf(bench, parent)).last_proven_restorable_at
    drills.push(
      await timed(async () => {
        await call(bench, 'POST', `services/${parent.service_id}/drill`)
        while ((await protectionOf(bench, parent)).last_proven_restorable_at === before) await pause(50)
      }),
    )
    if (repository) by_hand.push(await resticTime(repository, folder, `service-${parent.service_id}`))
  }
  const compared = (what: string, floor: number[], limit?: number): Figure => {
    const ratio = medianOf(drills) / medianOf(floor)
    const goal = limit === undefined ? {} : { goal: atMost(limit, ratio) }
    return {
      what: `drill from ${from}, against ${what}`,
      floor: spread(floor, 'ms'),
      ours: spread(drills, 'ms'),
      ratio,
      ...goal,
    }
  }
  const of_fork = compared('a fork to a moment', forks, 1.5)
  return repository ? [of_fork, compared('restic restore of it by hand', by_hand)] : [of_fork]
}

async function undeleteTime(bench: Bench, { service_id }: Parent): Promise<Figure> {
  say('deletions that are undone')
  const times: number[] = []
  for (let turn = 0; turn < turns; turn += 1) {
    await bench.remove(service_id)
    await bench.waitFor(service_id, 'removed')
    times.push(
      await timed(async () => {
        await bench.restore(service_id)
        await bench.waitFor(service_id, 'READY')
      }),
    )
  }
  return { what: 'undelete, until READY', ours: spread(times, 'ms'), goal: atMost(1_000, medianOf(times), ' ms') }
}

async function restoreTime(folder: string, repository: Repository): Promise<Figure> {
  say('the installation is restored, by hand and by us')
  const hand_ms = await resticTime(repository, folder)
  const data_dir = join(folder, 'restored')
  const ours_ms = await timed(() => restore(repository.target, { data_dir, key: repository.key }))
  rmSync(data_dir, { recursive: true })
  const ratio = ours_ms / hand_ms
  const compared = { floor: spread([hand_ms], 'ms'), ours: spread([ours_ms], 'ms') }
  return { what: 'restore of all, against restic by hand', ...compared, ratio, goal: atMost(1.3, ratio) }
}

/** Of `restic restore` by hand: of the newest copy of all, or of what has this tag. */
async function resticTime({ target, key }: Repository, folder: string, tag?: string): Promise<number> {
  const env = { ...process.env, RESTIC_REPOSITORY: target, RESTIC_PASSWORD: key }
  const restic = (words: string[]) => execFileSync('restic', words, { env, encoding: 'utf8' })
  type Run = { id: string; tags?: string[] }
  const runs = JSON.parse(restic(['snapshots', '--json'])) as Run[] // restic's own form
  const newest = new Map(
    runs.map(({ id, tags = [] }) => [tags.find((one) => one.startsWith('service-')) ?? tags[0], id]),
  )
  newest.delete('owner')
  const by_hand = join(folder, 'by-hand')
  const hand_ms = await timed(async () => {
    for (const [of, id] of newest) if (tag === undefined || of === tag) restic(['restore', id, '--target', by_hand])
    execFileSync('sync', ['--file-system', by_hand])
  })
  rmSync(by_hand, { recursive: true })
  return hand_ms
}
