// The loop: claims what is due, lets its kind's reconcile narrow the difference, settles. It knows no resource.
// A failure is recorded and tried again later; the loop itself never ends by one. Wake-ups come from the store's
// notifications, the due times are the safety net.
import { hasEnded, ownName } from '#providers/host/process-name.ts'
import type { Pass } from '#providers/provider.ts'
import { type Db, type Sql, storeIsAway } from './store/db.ts'
import type { Log } from './log.ts'
import {
  type Again,
  type Claim,
  claim,
  lease_seconds,
  listLeaseOwners,
  releaseLeases,
  renew,
  secondsUntilDue,
  settle,
} from './work.ts'

/** One pass over one subject. save writes what was seen, in the transaction that ends the claim. */
export type Reconcile = (key: string, pass: Pass) => Promise<Reconciled>
export type Reconciled = { again: Again; save: (tx: Sql) => Promise<void>; error?: string | undefined }

export type Reconciler = { stop(): Promise<void> }

export type Look = { kind: string; outcome: 'done' | 'waiting' | 'failed' | 'lost'; seconds: number }

type Parts = {
  db: Db
  log: Log
  reconcile: Readonly<Record<string, Reconcile>>
  /** Whose work it takes. */
  regions: readonly string[]
  /** Hears of every look, for those who count. */
  onLook?: (look: Look) => void
}

const at_once_max = 8
/** Beyond those, for what is urgent: it never waits for others to end. */
const urgent_at_once_max = 8
const idle_seconds_max = 5
const store_retry_seconds = 0.5

export function startReconciler({ db, log, reconcile, regions, onLook = () => undefined }: Parts): Reconciler {
  const scope = { kinds: Object.keys(reconcile), regions }
  const owner = ownName()
  const running = new Map<string, Promise<void>>()
  let stopped = false
  let pumping: Promise<void> | undefined
  let asked_again = false
  let timer: NodeJS.Timeout | undefined

  const wake = () => {
    if (stopped) return
    if (pumping !== undefined) {
      asked_again = true
      return
    }
    asked_again = false
    clearTimeout(timer)
    pumping = pump().finally(() => {
      pumping = undefined
      if (asked_again) wake()
    })
  }

  const pump = async () => {
    let sleep_seconds = idle_seconds_max
    try {
      const room = Math.max(0, at_once_max - running.size)
      const urgent_room = Math.max(0, at_once_max + urgent_at_once_max - running.size)
      const claims = urgent_room > 0 ? await claim(db, scope, owner, room, urgent_room) : []
      for (const one of claims) {
        const subject = `${one.kind}/${one.key}`
        const work = lookAt({ db, log, reconcile, onLook }, one, running.get(subject)).finally(() => {
          if (running.get(subject) === work) running.delete(subject)
          wake()
        })
        running.set(subject, work)
      }
      if (running.size < at_once_max) {
        const due = await secondsUntilDue(db, scope)
        sleep_seconds = Math.min(idle_seconds_max, Math.max(0.01, due ?? idle_seconds_max))
      }
    } catch (error) {
      if (!storeIsAway(error)) log.error({ err: error }, 'the work queue cannot be read')
      sleep_seconds = store_retry_seconds
    }
    if (!stopped) timer = setTimeout(wake, sleep_seconds * 1000)
  }

  db.listen('work', wake)
  wake()

  return {
    stop: async () => {
      stopped = true
      clearTimeout(timer)
      await pumping
      await Promise.all(running.values())
    },
  }
}

/**
 * Never throws: whatever goes wrong, the lease lapses by itself and somebody looks again. `earlier`: a look of this process
 * at the same subject whose lease has lapsed, as after a pause of the whole machine; it ends before this one begins.
 */
async function lookAt(
  { db, log, reconcile, onLook }: Omit<Required<Parts>, 'regions'>,
  one: Claim,
  earlier: Promise<void> | undefined,
): Promise<void> {
  const { kind, key } = one
  const started = performance.now()
  const lost = new AbortController()
  const keep = async () => {
    if (!(await renew(db, one))) lost.abort(new Error('the lease was lost'))
  }
  // While the store is away nobody else can get the lease either.
  const heartbeat = setInterval(() => void keep().catch(() => undefined), (lease_seconds / 3) * 1000)
  await earlier
  const { again, save, error } = await reconciledOf(one, reconcile[kind], lost, log)
  clearInterval(heartbeat)
  try {
    const ours = await settle(db, one, { again, error, random: Math.random() }, save)
    const took_ms = Math.round(performance.now() - started)
    const outcome = again === 'backoff' ? 'failed' : error === undefined ? 'done' : 'waiting'
    onLook({ kind, outcome: ours ? outcome : 'lost', seconds: took_ms / 1000 })
    if (ours) log.debug({ kind, key, took_ms, error }, 'looked')
    else log.warn({ kind, key, took_ms }, 'the lease was lost while looking; nothing was written')
  } catch (failure) {
    if (!storeIsAway(failure)) log.error({ err: failure, kind, key }, 'a look could not be settled')
  }
}

async function reconciledOf(one: Claim, reconcile: Reconcile | undefined, pass: Pass, log: Log): Promise<Reconciled> {
  try {
    if (reconcile === undefined) throw new Error(`nobody reconciles ${one.kind}`)
    return await reconcile(one.key, pass)
  } catch (error) {
    if (!storeIsAway(error)) log.error({ err: error, kind: one.kind, key: one.key }, 'a look failed')
    return { again: 'backoff', error: error instanceof Error ? error.message : String(error), save: async () => {} }
  }
}

/** Of servers of this host that are no more: what they were at is for others to end, and need not wait for the leases to lapse. */
export async function releaseDeadLeases(db: Db): Promise<void> {
  for (const owner of await listLeaseOwners(db)) {
    if (hasEnded(owner)) await releaseLeases(db, owner)
  }
}
