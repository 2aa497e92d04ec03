// The loop: claims what is due, lets its kind's reconcile narrow the difference, settles. It knows no resource.
// A pass that fails is recorded and tried again later; no failure ends the loop. Wake-ups come from the store's
// notifications, the due times are the safety net.
import { hasEnded, ownName } from '#providers/host/process-name.ts'
import type { Pass } from '#providers/provider.ts'
import { messageOf } from '#providers/host/message.ts'
import { type Db, type Sql, storeIsUnreachable } from './store/db.ts'
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

/** One pass over one subject. `save` writes what it observed, in the transaction that ends the claim; `onSettled` comes after that. */
export type Reconcile = (key: string, pass: Pass) => Promise<Reconciled>
export type Reconciled = {
  again: Again
  save: (tx: Sql) => Promise<void>
  onSettled?: () => void
  error?: string | undefined
}

export type Reconciler = { stop(): Promise<void> }

export type PassOutcome = { kind: string; outcome: 'done' | 'waiting' | 'failed' | 'lost'; seconds: number }

type Parts = {
  db: Db
  log: Log
  reconcile: Readonly<Record<string, Reconcile>>
  /** Whose work it takes. */
  regions: readonly string[]
  /** Called after every pass, for the metrics. */
  onPass?: (pass: PassOutcome) => void
}

const at_once_max = 8
/** Beyond those, for urgent subjects: they never wait for other passes to end. */
const urgent_at_once_max = 8
const idle_seconds_max = 5
const store_retry_seconds = 0.5

export function startReconciler({ db, log, reconcile, regions, onPass = () => undefined }: Parts): Reconciler {
  const scope = { kinds: Object.keys(reconcile), regions }
  const owner = ownName()
  const running = new Map<string, Promise<void>>()
  let stopped = false
  let pumping: Promise<void> | undefined
  let woken_again = false
  let timer: NodeJS.Timeout | undefined

  const wake = () => {
    if (stopped) return
    if (pumping !== undefined) {
      woken_again = true
      return
    }
    woken_again = false
    clearTimeout(timer)
    pumping = pump().finally(() => {
      pumping = undefined
      if (woken_again) wake()
    })
  }

  const pump = async () => {
    let sleep_seconds = idle_seconds_max
    try {
      const free = Math.max(0, at_once_max - running.size)
      const urgent_free = Math.max(0, at_once_max + urgent_at_once_max - running.size)
      const claims = urgent_free > 0 ? await claim(db, scope, owner, free, urgent_free) : []
      for (const one of claims) {
        const subject = `${one.kind}/${one.key}`
        const work = runPass({ db, log, reconcile, onPass }, one, running.get(subject)).finally(() => {
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
      if (!storeIsUnreachable(error)) log.error({ err: error }, 'the work queue cannot be read')
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
 * Never throws: after any failure the lease lapses by itself and the next pass comes. `earlier`: a pass of this process over the same
 * subject whose lease has lapsed, as after a pause of the whole machine; it ends before this one begins.
 */
async function runPass(
  { db, log, reconcile, onPass }: Omit<Required<Parts>, 'regions'>,
  one: Claim,
  earlier: Promise<void> | undefined,
): Promise<void> {
  const { kind, key } = one
  const started = performance.now()
  const lost = new AbortController()
  const keep = async () => {
    if (!(await renew(db, one))) lost.abort(new Error('the lease was lost'))
  }
  // A store that does not answer is no loss yet. Where another server has got the lease meanwhile, settle finds that, and writes nothing.
  const heartbeat = setInterval(() => void keep().catch(() => undefined), (lease_seconds / 3) * 1000)
  await earlier
  const { again, save, onSettled, error } = await reconciledOf(one, reconcile[kind], lost, log)
  clearInterval(heartbeat)
  try {
    const ours = await settle(db, one, { again, error, random: Math.random() }, save)
    if (ours) onSettled?.()
    const took_ms = Math.round(performance.now() - started)
    const outcome = again === 'backoff' ? 'failed' : error === undefined ? 'done' : 'waiting'
    onPass({ kind, outcome: ours ? outcome : 'lost', seconds: took_ms / 1000 })
    if (ours) log.debug({ kind, key, took_ms, error }, 'pass settled')
    else log.warn({ kind, key, took_ms }, 'the lease was lost during a pass; nothing was written')
  } catch (failure) {
    if (!storeIsUnreachable(failure)) log.error({ err: failure, kind, key }, 'a pass could not be settled')
  }
}

async function reconciledOf(one: Claim, reconcile: Reconcile | undefined, pass: Pass, log: Log): Promise<Reconciled> {
  try {
    if (reconcile === undefined) throw new Error(`there is no reconcile for ${one.kind}`)
    return await reconcile(one.key, pass)
  } catch (error) {
    if (!storeIsUnreachable(error)) log.error({ err: error, kind: one.kind, key: one.key }, 'a pass failed')
    return { again: 'backoff', error: messageOf(error), save: async () => {} }
  }
}

/** Of servers of this host that have ended: other servers take their subjects over, without waiting for the leases to lapse. */
export async function releaseDeadLeases(db: Db): Promise<void> {
  for (const owner of await listLeaseOwners(db)) {
    if (hasEnded(owner)) await releaseLeases(db, owner)
  }
}
