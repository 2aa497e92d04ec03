// What a restore changes in the metadata that it has loaded: only services and snapshots that it has put in place are left, and what has
// come to its end since the copy was made is the operator's to decide.
import { insertEvent } from '../event.ts'
import type { Db, Sql } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { Restored } from './restore-service.ts'

/** kept_seconds: how long a deleted service can be restored, at least, from now on. */
type Kept = { restored: readonly Restored[]; moment: string; kept_seconds: number }

/**
 * Returns what the operator has to know, a sentence each. Snapshots that were not fetched are gone, and so are services without one: else an empty database would take their place. What a rewind,
 * a reset or a switchover did is in the data: none of them is done again, or undone.
 */
export async function keepOnly(db: Db, { restored, moment, kept_seconds }: Kept): Promise<string[]> {
  const service_ids = restored.map(({ service_id }) => service_id)
  const snapshot_ids = restored.map(({ snapshot_id }) => snapshot_id)
  return db.transaction(async (tx) => {
    await tx.query(sql`delete from snapshots where not (snapshot_id = any (${snapshot_ids}))`)
    await tx.query(sql`update services set exchange = null, switchovers = 0`)
    await tx.query(sql`update snapshots set kind = 'scheduled' where kind = 'rewind'`)
    await tx.query(sql`update services set deleted_at = now(), kept_until = null, generation = generation + 1
      where not (service_id = any (${service_ids})) and (deleted_at is null or kept_until is not null)`)
    for (const { service_id, snapshot_id, taken_at } of restored) {
      // The metadata may be older than the snapshot.
      await tx.query(sql`
        insert into snapshots (snapshot_id, service_id, kind, requested_at, taken_at)
        values (${snapshot_id}, ${service_id}, 'scheduled', ${taken_at}::timestamptz, ${taken_at}::timestamptz)
        on conflict (snapshot_id) do update set deleted_at = null`)
      await insertEvent(tx, service_id, 'backup', `restored from the backup, as of ${moment}`)
    }
    await tx.query(sql`update services set kept_until = greatest(kept_until, now() + make_interval(secs => ${kept_seconds}))
      where kept_until is not null`)
    return [...(await endExpiry(tx)), ...(await listValidTokens(tx, moment))]
  })
}

/** Else the first server would delete a restored service for good, because its end has come since the copy was made. */
async function endExpiry(tx: Sql): Promise<string[]> {
  const ended = await tx.query(sql<{ service_id: string; name: string; expires_at: Date }>`
    with ended as (select service_id, expires_at from services where expires_at <= now() and deleted_at is null)
    update services set expires_at = null, expiry_told_at = null from ended where services.service_id = ended.service_id
    returning services.service_id, services.name, ended.expires_at`)
  const facts: string[] = []
  for (const { service_id, name, expires_at } of ended) {
    const message = `it was to expire at ${expires_at.toISOString()}, before it was restored; it expires no more`
    await insertEvent(tx, service_id, 'backup', message)
    facts.push(`Service ${service_id} (${name}): ${message}.`)
  }
  return facts
}

/** Tokens that were revoked since the copy work again, and only the operator knows which those are. */
async function listValidTokens(tx: Sql, moment: string): Promise<string[]> {
  const tokens = await tx.query(sql<{ public_key: string; name: string; email: string }>`
    select public_key, tokens.name, email from tokens join users on users.id = user_id
    where expires_at is null or expires_at > now() order by tokens.created, public_key`)
  if (tokens.length === 0) return []
  const head = `Personal access tokens work again as of ${moment}, also those revoked since, which howdah admin token revoke ends:`
  return [head, ...tokens.map(({ public_key, name, email }) => `  ${public_key}  ${name} (${email})`)]
}
