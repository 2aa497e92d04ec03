// A server watches over all services of its region: it hears what the provider calls out, and walks by now and then, for those that
// another server looked at last, which may be gone by now. A full look at hundreds takes a while: what is down is known, and said,
// before the first request is answered.
import { setTimeout as pause } from 'node:timers/promises'
import type { Provider } from '#providers/provider.ts'
import type { Db } from './store/db.ts'
import { type Healing, newHealing } from './healing.ts'
import type { Log } from './log.ts'
import { releaseDeadLeases } from './reconciler.ts'
import { insertEvent } from './service/events.ts'
import { nudgeVpc } from './vpc/reconcile.ts'
import { alarm } from './work.ts'

/** What the provider calls out is heard from here on, and what is down already is known. */
export async function watchOver(provider: Provider, db: Db, log: Log, opened: AsyncDisposableStack): Promise<Healing> {
  const healing = newHealing(db, provider, log)
  opened.defer(() => healing.close())
  provider.watch((id) => healing.heard(id))
  provider.watchVpcs((vpc_id) => {
    nudgeVpc({ db }, vpc_id).catch((error: unknown) => log.warn({ err: error, vpc_id }, 'a nudge failed'))
  })
  await releaseDeadLeases(db).catch((error: unknown) => log.warn({ err: error }, 'leases of the dead stay'))
  const patrol = await startPatrol(db, provider, log)
  opened.defer(() => patrol.stop())
  return healing
}

/** Seen to serve, and no look is under way that may have stopped it for a while. */
const at_rest = `power = 'on' and deleted_at is null and state = 'serving' and settled_generation = generation
  and exists (select from work w where w.kind = 'service' and w.key = service_id
              and (w.lease_until is null or w.lease_until <= now()))`

/** Services that were seen to serve and do no longer are not READY, and are the first to be looked at. */
async function noteDown(db: Db, provider: Pick<Provider, 'region_code' | 'findDown'>): Promise<void> {
  const rows = await db.query<{ service_id: string; seen: string }>(
    `select service_id, now()::text as seen from services where region_code = $1 and ${at_rest}`,
    [provider.region_code],
  )
  const down = await provider.findDown(rows.map(({ service_id }) => service_id))
  if (down.length === 0) return
  await db.transaction(async (tx) => {
    // What another server has seen since then is newer.
    const noted = await tx.query<{ service_id: string }>(
      `update services set state = 'not_serving', observed_at = now()
       where service_id = any ($1) and ${at_rest} and observed_at <= $2 returning service_id`,
      [down, rows[0]?.seen],
    )
    const ids = noted.map(({ service_id }) => service_id)
    for (const id of ids) await insertEvent(tx, id, 'unstable', 'the service does not answer')
    await alarm(tx, ['service'], ids)
  })
}

const patrol_ms = 5_000

/** Once before it returns, and then now and then. */
async function startPatrol(db: Db, provider: Pick<Provider, 'region_code' | 'findDown'>, log: Log) {
  const closing = new AbortController()
  const go = () => noteDown(db, provider).catch((error: unknown) => log.warn({ err: error }, 'a patrol failed'))
  await go()
  const walk = async () => {
    while (await pause(patrol_ms, true, { signal: closing.signal, ref: false }).catch(() => false)) await go()
  }
  const walking = walk()
  return {
    stop: async () => {
      closing.abort()
      await walking
    },
  }
}
