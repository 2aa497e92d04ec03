// One pass over one subject, the same for services, replica sets and VPCs: find what is wanted, hand it to the provider, write down what
// it observed. The row is the only truth; nothing is remembered between two passes. What differs between the kinds comes in.
import { messageOf } from '#providers/host/message.ts'
import type { Pass } from '#providers/provider.ts'
import { tellable } from './event.ts'
import type { Log } from './log.ts'
import type { Reconcile, Reconciled } from './reconciler.ts'
import type { Sql } from './store/db.ts'

/** The next pass when all is well and no request comes, in case something changed unseen. */
const routine_seconds = 300
/** The next pass while something is missing, when the provider does not say how long that takes. */
export const unsettled_seconds = 2

/** What every kind of subject has in what a provider observes of it. */
type Observed = {
  settled: boolean
  waiting_for?: string
  in_progress?: boolean | undefined
  look_again_seconds?: number
}

type Parts<Subject, Result extends Observed> = {
  log: Log
  /** Undefined: no row wants it. */
  find(key: string): Promise<Subject | undefined>
  /** Hands the provider what is wanted. */
  apply(subject: Subject, pass: Pass): Promise<Result>
  isDeleted(subject: Subject): boolean
  /** Its own idea of when the next pass is due, from the usual one. */
  paceOf?: (subject: Subject, observed: Result, seconds: number) => number
  save(tx: Sql, subject: Subject, observed: Result): Promise<void>
  /** After a provider that threw: nothing was observed. */
  saveSetback(tx: Sql, subject: Subject, waiting_for: string): Promise<void>
  /** It is deleted, and nothing of it is left. */
  saveRemoved(tx: Sql, subject: Subject): Promise<void>
  /** What the pass observed is written down. */
  onSettled?: (subject: Subject, observed: Result) => void
  /** For a key that no row wants; without it there is nothing to do. */
  applyUnwanted?: (key: string, pass: Pass) => Promise<Observed>
}

const nothing_left: Observed = { settled: true }

export function newReconcile<Subject, Result extends Observed>(parts: Parts<Subject, Result>): Reconcile {
  const { log, applyUnwanted = async () => nothing_left, paceOf = (_subject, _observed, seconds) => seconds } = parts
  return async (key, pass) => {
    const subject = await parts.find(key)
    if (subject === undefined) return unwantedOf(await applyUnwanted(key, pass))
    try {
      const observed = told(await parts.apply(subject, pass))
      const onSettled = () => parts.onSettled?.(subject, observed)
      if (parts.isDeleted(subject) && observed.settled) {
        return { again: 'never', save: (tx) => parts.saveRemoved(tx, subject), onSettled }
      }
      return {
        again: { in_seconds: paceOf(subject, observed, secondsOf(observed)) },
        error: observed.waiting_for,
        save: (tx) => parts.save(tx, subject, observed),
        onSettled,
      }
    } catch (error) {
      log.error({ err: error, key }, 'a provider failed')
      const waiting_for = 'an unexpected error; the server log has the details, and it is tried again'
      const message = messageOf(error)
      return { again: 'backoff', error: tellable(message), save: (tx) => parts.saveSetback(tx, subject, waiting_for) }
    }
  }
}

/** As it is stored, so that the next pass compares the same words. */
const told = <Result extends Observed>(observed: Result): Result =>
  observed.waiting_for === undefined ? observed : { ...observed, waiting_for: tellable(observed.waiting_for) }

const secondsOf = ({ settled, look_again_seconds = settled ? routine_seconds : unsettled_seconds }: Observed) =>
  look_again_seconds

function unwantedOf(observed: Observed): Reconciled {
  const again = observed.settled ? 'never' : { in_seconds: secondsOf(observed) }
  return { again, error: observed.waiting_for, save: async () => {} }
}

type Progress = { generation: number; settled_generation: number; waiting_for: string | null }

export const settlesNow = (row: Progress, { settled }: Observed): boolean =>
  settled && row.settled_generation < row.generation

/** It waits for what is no step of work. Pure. */
export const isSetback = ({ settled, waiting_for, in_progress }: Observed): boolean =>
  !settled && waiting_for !== undefined && in_progress !== true

/** What changed between the pass before and this one, in words. Pure. */
export function changesOf(row: Progress, observed: Observed): { kind: string; message: string }[] {
  const events: { kind: string; message: string }[] = []
  if (observed.waiting_for !== undefined && observed.waiting_for !== row.waiting_for) {
    const message = observed.waiting_for
    events.push(observed.in_progress ? { kind: 'progress', message } : { kind: 'setback', message })
  }
  const is_over = observed.settled && observed.waiting_for === undefined && row.waiting_for !== null
  const message = 'every change that was asked for is in effect'
  if (settlesNow(row, observed)) events.push({ kind: 'settled', message })
  else if (is_over) events.push({ kind: 'settled', message: `${message} again` })
  return events
}
