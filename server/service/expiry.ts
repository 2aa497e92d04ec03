// Services that end by themselves. Every server looks every few seconds which have come to their end or are to be warned of it; the row
// decides, under its lock and by the clock of the store, so that of several servers one acts, however their own clocks differ, and a server
// that was down acts when it starts.
import type { Handlers } from '../http/handler.ts'
import { Fault } from '#contract/fault.ts'
import { checked } from '#contract/problem.ts'
import type { Log } from '../log.ts'
import { type Patrol, startPatrol } from '../patrol.ts'
import type { Db, Sql } from '../store/db.ts'
import { changeService, saveChange } from './change.ts'
import type { ServiceContext } from './context.ts'
import { type ExpiringRow, getStoreTime, listExpiring, listKeptLongEnough } from './endings.ts'
import { expiryStep, first_warning_ms, parseExpiry } from './expiry-rules.ts'
import { deletionChange, isProtected, purgeChange, unprotectSentence } from './rules.ts'
import { lockDeletedService, lockServiceOfProject } from './store.ts'
import type { ServiceView } from './view.ts'

export function expiryHandlers(context: ServiceContext, viewOf: ServiceView): Pick<Handlers, 'setExpiry'> {
  return {
    setExpiry: async ({ params, body }) => {
      const expires_at = checked((problems) => parseExpiry(body.expires_at, new Date(), problems))
      const event = expires_at === null ? 'no expiry' : `expiry at ${expires_at.toISOString()}`
      const row = await changeService(context, params, (row) => {
        if (expires_at !== null && isProtected(row)) {
          throw new Fault('CONFLICT', `the service is protected, so it does not expire; ${unprotectSentence(row)}`)
        }
        return { expires_at, expiry_told_at: null, event }
      })
      return viewOf(row)
    },
  }
}

/** And deleted services that were kept long enough: from then on they are removed, whatever comes. */
export function startExpiry({ db, log }: { db: Db; log: Log }): Promise<Patrol> {
  return startPatrol(async () => {
    // A failure keeps no other service from its end.
    const attempt = async ({ service_id }: { service_id: string }, work: (tx: Sql) => Promise<void>) =>
      db.transaction(work).catch((error: unknown) => log.warn({ err: error, service_id }, 'an expiry failed'))
    const now = await getStoreTime(db)
    const expiring = await listExpiring(db, first_warning_ms / 1000)
    for (const row of expiring.filter((one) => expiryStep(one, now) !== undefined))
      await attempt(row, (tx) => act(tx, row))
    for (const row of await listKeptLongEnough(db)) await attempt(row, (tx) => endKeeping(tx, row))
  }, log)
}

async function act(tx: Sql, { project_id, service_id }: ExpiringRow): Promise<void> {
  const row = await lockServiceOfProject(tx, project_id, service_id)
  if (row === undefined || row.deleted_at !== null || row.expires_at === null) return
  const now = await getStoreTime(tx)
  const step = expiryStep(row, now)
  const is_protected = isProtected(row)
  const moment = row.expires_at.toISOString()
  if (step === 'warn' && !is_protected) {
    const event = `it expires at ${moment}: then it is deleted with all its data; setExpiry changes that`
    await saveChange(tx, row, { expiry_told_at: now, event_kind: 'expiring', event })
  }
  if (step === 'delete' && is_protected) {
    const event = `it was to expire at ${moment}; it is protected, so it stays and expires no more`
    await saveChange(tx, row, { expires_at: null, event_kind: 'expired', event })
  } else if (step === 'delete') {
    const event = `it expired at ${moment} and is deleted`
    // Not kept: its end was known before, and what is made to end, such as a preview, is many.
    await saveChange(tx, row, { ...deletionChange(row, now, 0), event_kind: 'expired', event })
  }
}

async function endKeeping(tx: Sql, { project_id, service_id }: Pick<ExpiringRow, 'project_id' | 'service_id'>) {
  const row = await lockDeletedService(tx, project_id, service_id)
  if (row === undefined || row.kept_until === null || row.kept_until > (await getStoreTime(tx))) return
  await saveChange(tx, row, { ...purgeChange(row), event: 'it was kept long enough', event_kind: 'expired' })
}
