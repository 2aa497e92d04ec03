// A server watches over all services of its region: by the provider's news, and by a patrol every few seconds, for services whose last
// pass was another server's, which may have ended since. Passes over hundreds of services take a while: which are down is
// known, and said, before the first request is answered.
import type { Provider } from '#providers/provider.ts'
import type { Db } from './store/db.ts'
import { fragment, sql } from './store/sql.ts'
import type { Healing } from './healing.ts'
import type { Log } from './log.ts'
import { startPatrol } from './patrol.ts'
import { releaseDeadLeases } from './reconciler.ts'
import { insertEvent } from './event.ts'
import { nudgeVpc } from './vpc/reconcile.ts'
import { alarm, bringForward } from './work.ts'

type Watching = {
  region_code: string
  provider: Provider
  healing: Healing
  db: Db
  log: Log
  opened: AsyncDisposableStack
}

/** The provider's news are heard from here on, and what is down already is known. */
export async function watchOver({ region_code, provider, healing, db, log, opened }: Watching): Promise<void> {
  provider.watch((kind, id) => {
    if (kind !== 'vpc') return healing.heard({ kind, id, provider })
    nudgeVpc({ db }, id).catch((error: unknown) => log.warn({ err: error, vpc_id: id }, 'a nudge failed'))
  })
  await releaseDeadLeases(db).catch((error: unknown) =>
    log.warn({ err: error }, 'leases of ended servers could not be released'),
  )
  const round = async () => {
    await bringForward(db)
    await noteDown(db, region_code, provider)
  }
  const patrol = await startPatrol(round, log)
  opened.defer(() => patrol.stop())
}

/** Observed to serve, and no pass is under way that may have stopped it for a while. */
const at_rest = fragment`power = 'on' and deleted_at is null and state = 'serving' and settled_generation = generation
  and exists (select from work w where w.kind = 'service' and w.key = service_id
              and (w.lease_until is null or w.lease_until <= now()))`

/** Services that served and do no longer are not READY, and their passes come first. */
async function noteDown(db: Db, region_code: string, { service }: Pick<Provider, 'service'>): Promise<void> {
  const rows = await db.query(sql<{ service_id: string; seen: string }>`
    select service_id, now()::text as seen from services where region_code = ${region_code} and ${at_rest}`)
  const serving = new Set((await service.list()).filter(({ down }) => !down).map(({ id }) => id))
  const down = rows.map(({ service_id }) => service_id).filter((id) => !serving.has(id))
  if (down.length === 0) return
  await db.transaction(async (tx) => {
    // What another server has observed since then is newer.
    const noted = await tx.query(sql<{ service_id: string; project_id: string }>`
      update services set state = 'not_serving', observed_at = now()
      where service_id = any (${down}) and ${at_rest} and observed_at <= ${rows[0]?.seen} returning service_id, project_id`)
    const ids = noted.map(({ service_id }) => service_id)
    // Of one project after the other, so that no two servers wait for each other's turns.
    for (const { service_id } of noted.toSorted(byProject))
      await insertEvent(tx, service_id, 'unstable', 'the service does not answer')
    await alarm(tx, 'service', ids)
  })
}

const byProject = (one: { project_id: string }, other: { project_id: string }) =>
  one.project_id < other.project_id ? -1 : 1
