// Makes the backups, as long as the server runs: WAL and metadata in one lane, every few seconds; snapshots, forgetting and checks in
// another, because they take long. One process of an installation does it. It reads what lies on the disk and waits for nothing that a
// commit, a fork or a failover needs.
// 1. What counts as copied is what restic names, or what the list of a run shows; not what its exit code says.
// 2. A repository that is away is tried again and again; nothing local waits for it. That a service is late is told while a run hangs, too.
// 3. The state is one file, so every server and every command of the installation reads the same.
import { setTimeout as pause } from 'node:timers/promises'
import { messageOf } from '#providers/host/message.ts'
import type { StagedWal } from '#providers/provider.ts'
import type { Db } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { Log } from '../log.ts'
import type { Regions } from '../regions.ts'
import { newDataLane } from './data-lane.ts'
import { newDeadLocks } from './dead-locks.ts'
import { newLateness, type OnLate } from './lateness.ts'
import { newMetaStore } from './meta-store.ts'
import { type BackupState, backupFilesOf, ensureBackupFolder } from './backup-files.ts'
import { openRepository, type Place, refuseMissingFolder, type Repository } from './repository.ts'
import type { Archived } from './retention.ts'
import { holdRunner, type RunnerLock } from './runner-lock.ts'
import { takenOf } from './runs.ts'
import { newStateFile, type StateFile } from './state-file.ts'
import { type Lacking, newWalStore } from './wal-store.ts'

export type Backups = {
  /** The next copy of WAL begins at once. */
  copyNow(): void
  close(): Promise<void>
}

type Parts = {
  place: Place
  db: Db
  regions: Regions
  log: Log
  lag_seconds: number
  onLate: OnLate
}

const round_ms_max = 20_000
const retry_ms = 5_000
const data_every_ms_max = 10_000
const tell_ms = 1_000

export function startBackups(parts: Parts): Backups {
  const end = new AbortController()
  // A snapshot that waits for the repository is copied as soon as that is there.
  const work = newWork(parts, () => lanes.data.hurry())
  const startLane = (every_ms: () => number, turn: () => Promise<void>) => {
    let hurry = new AbortController()
    const walk = async () => {
      while (!end.signal.aborted) {
        const began = performance.now()
        await work.guarded(turn)
        const rest = Math.max(0, every_ms() - (performance.now() - began))
        const signal = AbortSignal.any([end.signal, hurry.signal])
        await pause(rest, undefined, { signal, ref: false }).catch(() => undefined)
        hurry = new AbortController()
      }
    }
    return { ended: walk(), hurry: () => hurry.abort() }
  }
  const round_ms = Math.min(round_ms_max, (parts.lag_seconds * 1000) / 3)
  const lanes = {
    wal: startLane(() => (work.failing() ? retry_ms : round_ms), work.walRound),
    data: startLane(() => Math.min(data_every_ms_max, round_ms), work.dataRound),
  }
  const tell = async () => {
    const pausing = () => pause(tell_ms, true, { signal: end.signal, ref: false }).catch(() => false)
    while (await pausing()) await work.tell()
  }
  const telling = tell()
  return {
    copyNow: () => lanes.wal.hurry(),
    close: async () => {
      end.abort()
      await Promise.all([lanes.wal.ended, lanes.data.ended, telling])
      await work.close()
    },
  }
}

/** While the repository is locked for its own tidying, WAL waits a moment, and the tidying for a run that is under way. */
function newTurns() {
  let tidying: Promise<unknown> = Promise.resolve()
  let running: Promise<unknown> = Promise.resolve()
  return {
    run: async <Result>(work: () => Promise<Result>): Promise<Result> => {
      await tidying
      const run = work()
      running = run
      return await run
    },
    exclusively: async (work: () => Promise<void>) => {
      const own = running.catch(() => undefined).then(work)
      tidying = own.catch(() => undefined)
      await own
    },
  }
}

function newWork({ place, db, regions, log, lag_seconds, onLate }: Parts, onOpened: () => void) {
  const files = backupFilesOf(place.data_dir)
  const runner = holdRunner(files.runner)
  const backups = [...regions.values()].flatMap(({ backup }) => backup ?? [])
  const archived = new Map<string, Archived>()
  const turns = newTurns()
  const state = newStateFile(files)
  const wal = newWalStore(place, archived)
  const keys = backups.flatMap((backup) => backup.keys)
  const storeMeta = newMetaStore(place, db, files.meta, keys)
  const [listAlive, { exclusively }] = [() => listServiceIds(db), turns]
  const storeData = newDataLane({ place, backups, archived, listAlive, lag_seconds, state, log, exclusively })
  const tellLate = newLateness(lag_seconds, onLate, Date.now())
  const repository = newOpening(place, onOpened)
  let problem: string | undefined

  const walRound = async () => {
    const found = (await Promise.all(backups.map((backup) => backup.stageWal(wal.written)))).flat()
    const services = servicesFound(found, (await state.read()).services)
    await state.save({ services })
    const opened = await repository.open()
    await turns.run(async () => {
      const lacking = await wal.store(opened, found)
      const stored = withBackups(servicesStored(found, services, lacking), opened)
      await state.save({ services: stored, problem: undefined })
      await storeMeta(opened)
    })
  }
  const dataRound = async () => {
    // WAL goes on as it did: what keeps a snapshot from being copied need not keep WAL from it.
    const opened = repository.opened()
    await (opened && storeData(opened))?.catch(async (error: unknown) => {
      if (!place.signal?.aborted) await noteDataFailure(state, log, error)
    })
  }
  const noteFailure = async (reason: unknown) => {
    repository.forget()
    wal.forget()
    const sentence = messageOf(reason)
    if (sentence !== problem) log.warn({ reason: sentence }, 'the backup failed and is tried again')
    problem = sentence
    await state.save({ problem: sentence }).catch(() => undefined)
  }
  return {
    walRound,
    dataRound,
    failing: () => problem !== undefined,
    /** A turn that fails is tried again; the repository is judged anew by then. */
    guarded: async (turn: () => Promise<void>) => {
      try {
        await ensureBackupFolder(files)
        if (!(await runner.isOurs())) return
        await turn()
        if (turn === walRound) problem = undefined
      } catch (error) {
        // A turn that the end of the server cut short has not failed.
        if (!place.signal?.aborted) await noteFailure(error)
      }
    },
    tell: () => tellIfOurs(tellLate, state, runner).catch((error: unknown) => log.warn({ err: error }, 'not told')),
    close: () => runner.release(),
  }
}

type OwnState = ReturnType<typeof newStateFile>

/** Where another process makes the backups by now, the state that is known here is an old one. */
async function tellIfOurs(
  tellLate: ReturnType<typeof newLateness>,
  state: OwnState,
  runner: RunnerLock,
): Promise<void> {
  const last = state.last()
  if (last === undefined) return
  if (await runner.isOurs()) await tellLate(last, Date.now())
  else state.forget()
}

async function listServiceIds(db: Db): Promise<string[]> {
  const rows = await db.query(sql<{ service_id: string }>`select service_id from services`)
  return rows.map(({ service_id }) => service_id)
}

/** The repository, opened once until something fails. */
function newOpening(place: Place, onOpened: () => void) {
  let known: Repository | undefined
  const locks = newDeadLocks()
  return {
    opened: () => known,
    open: async (): Promise<Repository> => {
      const before = known
      // A disk that is unmounted is noticed at once, also when there is nothing to copy.
      if (before !== undefined) await refuseMissingFolder(place.target)
      if (before !== undefined) return before
      const repository = await openRepository(place, locks)
      known = repository
      onOpened()
      return repository
    },
    forget: () => {
      known = undefined
    },
  }
}

async function noteDataFailure(state: StateFile, log: Log, reason: unknown): Promise<void> {
  const data_problem = messageOf(reason)
  if ((await state.read()).data_problem !== data_problem) log.warn({ reason: data_problem }, 'a backup failed')
  await state.save({ data_problem })
}

type Services = BackupState['services']

/** A service is late from the moment on at which it was first found. */
function servicesFound(found: readonly StagedWal[], before: Services): Services {
  const first = { wal_until: new Date().toISOString() }
  return Object.fromEntries(found.map(({ service_id }) => [service_id, before[service_id] ?? first]))
}

/** How far the WAL of each is copied, and what keeps it from being so. */
function servicesStored(found: readonly StagedWal[], before: Services, lacking: Lacking): Services {
  const entries = found.map((each) => {
    const { wal_until, last_backup_at } = before[each.service_id] ?? {}
    const lacks = lacking(each)
    const problem = lacks === undefined ? each.behind : `${lacks} did not reach the repository`
    const until = problem === undefined ? each.at.toISOString() : wal_until
    const stored = {
      ...(until !== undefined && { wal_until: until }),
      ...(last_backup_at !== undefined && { last_backup_at }),
      ...(problem !== undefined && { problem }),
    }
    return [each.service_id, stored] as const
  })
  return Object.fromEntries(entries)
}

/** With the moment of each service's newest snapshot in the repository. */
function withBackups(services: Services, { runs }: Repository): Services {
  const entries = Object.entries(services).map(([service_id, one]) => {
    const moments = runs.filter(({ tags }) => tags.includes(`service-${service_id}`)).map(({ tags }) => takenOf(tags))
    const newest = Math.max(0, ...moments)
    return [service_id, newest > 0 ? { ...one, last_backup_at: new Date(newest).toISOString() } : one] as const
  })
  return Object.fromEntries(entries)
}
