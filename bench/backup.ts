// Bench: what backups cost commits, and how long it takes to come back: from the repository against `restic restore` by hand, from a
// deletion, and in a drill against a fork to a moment; and how much is lost with a machine that is lost at a random moment.
// `--services 4 --gb 1` chooses what is restored, `--runs 20` how many losses there are. All services but the first are forks of it: what
// the repository stores is small then, and what is restored is not.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { howdah, repository, startHowdah } from '#test/e2e/howdah.ts'
import { ask, listSnapshots, login, newParent, type Parent, takeSnapshot } from './fork-parent.ts'
import { atLeast, atMost, type Figure, medianOf, printFigures, spread, timed } from './figures.ts'
import { type Bench, withHowdah } from './howdah.ts'
import { inPlace, type Place } from './place.ts'

/** As without the setting. */
const lag_seconds = 60
const services_max = 20
const turns = 4
const turn_ms = 20_000
const rows_every_ms = 100
/** Between two losses, on average. */
const loss_every_ms = 20_000

await inPlace(
  10,
  async ({ folder, description, runs, gb, services }) => {
    const [size, count] = [gb[0] ?? 1, Math.min(services, services_max)]
    const target = join(folder, 'repository')
    const env = {
      HOWDAH_BACKUP_TO: `file://${target}`,
      HOWDAH_BACKUP_LAG: String(lag_seconds),
    }
    const figures: Figure[] = []
    const losses: Loss[] = []
    let key = ''
    await withHowdah(
      join(folder, 'howdah'),
      async (bench) => {
        const words = ['admin', 'backup', 'init', '--backup-to', env.HOWDAH_BACKUP_TO, '--data-dir', bench.data_dir]
        key = /[A-Z2-7]{4}(-[A-Z2-7]{4}){12}/.exec((await howdah(words)).stdout)?.[0] ?? ''
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
        figures.push(await commitCost(bench, first), await drillTime(bench, first), await undeleteTime(bench, first))
        losses.push(...(await lose(first, { target, folder, runs })))
      },
      env,
      '1h',
    )
    figures.push(await restoreTime(folder, target, key))
    figures.push(...(await lossFigures(folder, losses, key)))
    printFigures(`backup, ${count} services of ${size} GB, ${runs} losses, on ${description}`, figures)
  },
  restoredGbOf,
)

/** All services are restored: by hand, and when that is removed by us. */
function restoredGbOf({ gb, services }: Pick<Place, 'gb' | 'services'>): number {
  return Math.min(services, services_max) * (gb[0] ?? 1)
}

/** It takes minutes: it prints what it is waiting for. */
function say(what: string): void {
  console.log(`${new Date().toISOString().slice(11, 19)} ${what}`)
}

type Protection = { last_backup_at?: string; backup_lag_seconds?: number; last_proven_restorable_at?: string }

async function call<T>({ url, token, project_id }: Bench, method: string, path: string): Promise<T> {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${url}/projects/${project_id}/${path}`, { method, headers })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  const text = await answer.text()
  return (text === '' ? undefined : JSON.parse(text)) as T // the contract's own answers
}

/** Its archive is pruned then: what is restored is its data, and little WAL. */
async function keepNewest(bench: Bench, parent: Parent, newest: { id: string }): Promise<void> {
  const older = (await listSnapshots(bench, parent)).filter(({ id }) => id !== newest.id)
  for (const { id } of older) await call(bench, 'DELETE', `services/${parent.service_id}/snapshots/${id}`)
}

type Known = Pick<Parent, 'service_id'>

async function protectionOf(bench: Bench, { service_id }: Known): Promise<Protection> {
  return (await call<{ protection?: Protection }>(bench, 'GET', `services/${service_id}`)).protection ?? {}
}

/** All that was committed before, and a snapshot that was taken before. */
async function untilCopied(bench: Bench, parent: Known): Promise<void> {
  const begun = new Date()
  for (;;) {
    const { last_backup_at = '', backup_lag_seconds = Infinity } = await protectionOf(bench, parent)
    const listed = await call<{ taken?: string }[]>(bench, 'GET', `services/${parent.service_id}/snapshots`)
    const newest = Math.max(...listed.map(({ taken = '' }) => Date.parse(taken) || 0))
    if (Date.parse(last_backup_at) >= newest && Date.now() - backup_lag_seconds * 1000 > begun.getTime() + 1000) return
    await pause(200)
  }
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

async function drillTime(bench: Bench, parent: Parent): Promise<Figure> {
  say('a fork to a moment, and a drill')
  await untilCopied(bench, parent)
  const target_time = new Date(Date.now() - 1_000).toISOString()
  const fork_ms = await timed(async () => {
    const fork = await bench.forkService(parent.service_id, { fork_strategy: 'PITR', target_time })
    await bench.waitFor(fork.service_id, 'READY')
  })
  const before = (await protectionOf(bench, parent)).last_proven_restorable_at
  const drill_ms = await timed(async () => {
    await call(bench, 'POST', `services/${parent.service_id}/drill`)
    while ((await protectionOf(bench, parent)).last_proven_restorable_at === before) await pause(50)
  })
  const ratio = drill_ms / fork_ms
  const compared = { floor: spread([fork_ms], 'ms'), ours: spread([drill_ms], 'ms') }
  return { what: 'drill from the repository, against a fork to a moment', ...compared, ratio, goal: atMost(1.5, ratio) }
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

type Loss = { at_ms: number; copy: string; service_id: string }

/** The repository as it is at random moments, while rows are written. */
async function lose(parent: Parent, { target, folder, runs }: { target: string; folder: string; runs: number }) {
  say(`${runs} losses`)
  const client = await login(parent)
  await client.query('create table acknowledged (n int, at timestamptz)')
  const end = new AbortController()
  const write = async () => {
    for (let n = 1; !end.signal.aborted; n += 1) {
      await client.query('insert into acknowledged values ($1, clock_timestamp())', [n])
      await pause(rows_every_ms)
    }
  }
  const writing = write()
  const losses: Loss[] = []
  for (let loss = 0; loss < runs; loss += 1) {
    await pause(Math.random() * 2 * loss_every_ms)
    const copy = join(folder, `lost-${loss}`)
    const locks = join(copy, 'locks')
    mkdirSync(locks, { recursive: true })
    // restic is another user, and makes a lock before it writes.
    execFileSync('chown', [`--reference=${target}`, copy, locks])
    const at_ms = Date.now()
    // What is named is there before what names it, so it is copied after it.
    for (const part of ['snapshots', 'index', 'keys', 'config', 'data']) {
      execFileSync('cp', ['--archive', '--reflink=auto', join(target, part), copy])
    }
    losses.push({ at_ms, copy, service_id: parent.service_id })
  }
  end.abort()
  await writing
  await client.end()
  return losses
}

async function restoreTime(folder: string, target: string, key: string): Promise<Figure> {
  say('the installation is restored, by hand and by us')
  const env = { ...process.env, RESTIC_REPOSITORY: target, RESTIC_PASSWORD: key }
  const restic = (words: string[]) => execFileSync('restic', words, { env, encoding: 'utf8' })
  type Run = { id: string; tags?: string[] }
  const runs = JSON.parse(restic(['snapshots', '--json'])) as Run[] // restic's own form
  const newest = new Map(
    runs.map(({ id, tags = [] }) => [tags.find((tag) => tag.startsWith('service-')) ?? tags[0], id]),
  )
  newest.delete('owner')
  const by_hand = join(folder, 'by-hand')
  const hand_ms = await timed(async () => {
    for (const id of newest.values()) restic(['restore', id, '--target', by_hand])
    execFileSync('sync', ['--file-system', by_hand])
  })
  rmSync(by_hand, { recursive: true })
  const data_dir = join(folder, 'restored')
  const ours_ms = await timed(() => restore(target, data_dir, key))
  rmSync(data_dir, { recursive: true })
  const ratio = ours_ms / hand_ms
  const compared = { floor: spread([hand_ms], 'ms'), ours: spread([ours_ms], 'ms') }
  return { what: 'restore of all, against restic by hand', ...compared, ratio, goal: atMost(1.3, ratio) }
}

async function restore(target: string, data_dir: string, key: string): Promise<void> {
  const words = ['admin', 'restore', '--from', `file://${target}`, '--data-dir', data_dir]
  const { code, stderr } = await howdah(words, { HOWDAH_RECOVERY_KEY: key })
  if (code !== 0) throw new Error(`the restore ended with ${code}: ${stderr}`)
}

/** From the loss back to the last row that each copy still has; and whether any before that is missing. */
async function lossFigures(folder: string, losses: readonly Loss[], key: string): Promise<Figure[]> {
  const lost: number[] = []
  let missing = 0
  for (const [at, { at_ms, copy, service_id }] of losses.entries()) {
    say(`loss ${at + 1} of ${losses.length} is restored`)
    const data_dir = join(folder, 'found')
    await restore(copy, data_dir, key)
    const server = await startHowdah(['--data-dir', data_dir], { XDG_CONFIG_HOME: `${data_dir}-config` })
    const sockets = join(data_dir, 'local', 'run', service_id)
    const last = await lastRow(data_dir, sockets)
    lost.push((at_ms - last.at_ms) / 1000)
    missing += last.missing
    say(`lost: ${lost.at(-1)?.toFixed(1)} s; rows missing before that: ${last.missing}`)
    await server.end()
    execFileSync(join(repository, 'bin/howdah'), ['stop', '--all', '--data-dir', data_dir], { stdio: 'ignore' })
    for (const one of [data_dir, copy]) rmSync(one, { recursive: true, force: true })
  }
  // Of fewer than a hundred losses the 99th percentile is the worst.
  const p99 = lost.toSorted((one, other) => one - other)[Math.ceil(lost.length * 0.99) - 1] ?? Infinity
  const what = `lost with the machine, --backup-lag ${lag_seconds}`
  return [
    { what: `${what}, 99th percentile`, ours: spread(lost, 's'), goal: atMost(lag_seconds, p99, ' s') },
    { what: 'rows missing before the last one that came back', ours: String(missing), goal: atMost(0, missing) },
  ]
}

async function lastRow(data_dir: string, sockets: string): Promise<{ at_ms: number; missing: number }> {
  for (;;) {
    try {
      const [name = ''] = execFileSync('ls', ['-A', sockets], { encoding: 'utf8' }).match(/\.s\.PGSQL\.\d+/) ?? []
      const at = { service_id: '', home: data_dir, sockets, port: Number(name.slice('.s.PGSQL.'.length)) }
      const text = await ask(
        at,
        `select extract(epoch from max(at)) * 1000 || ' ' || max(n) - count(distinct n) from acknowledged`,
      )
      const [at_ms = 0, missing = Infinity] = text.split(' ').map(Number)
      return { at_ms, missing }
    } catch {
      // It recovers.
      await pause(200)
    }
  }
}
