// Changes of roles and databases that no tenant can delay: an open transaction of a tenant keeps its locks on them for
// as long as it likes. A session that keeps such a change waiting is terminated, and an event reports it.
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { errorCode } from '../../host/read.ts'
import type { ObservedEvent } from '../../provider.ts'
import type { Node } from '../host/layout.ts'
import { withSuperuser } from './superuser.ts'
import { superuser } from '../../postgres/names.ts'

/** Far longer than such a change takes; a caller that changes the password waits for it. */
const patience_ms = 500
const attempts_max = 3

/** As `withSuperuser`. The work reads before it changes anything, because it may be begun anew. */
export async function withCatalogChanges<T>(
  node: Node,
  events: ObservedEvent[],
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  return await withSuperuser(node, {}, async (client) => {
    const over = new AbortController()
    const watching = endBlockers(node, client, over.signal, events)
    try {
      return await withAttempts(() => work(client))
    } finally {
      over.abort()
      await watching
    }
  })
}

/** A statement that waited for a row that was then changed is refused; the next attempt finds the change. */
async function withAttempts<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt === attempts_max || !isMeantime(error)) throw error
    }
  }
}

/** Another transaction was faster, or the wait for a lock timed out. */
function isMeantime(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const [lock_timeout, deadlock, duplicate_role, duplicate_row] = ['55P03', '40P01', '42710', '23505']
  return (
    /tuple concurrently (updated|deleted)/.test(error.message) ||
    [lock_timeout, deadlock, duplicate_role, duplicate_row].includes(errorCode(error) ?? '')
  )
}

/** Until the signal: polls which sessions keep this one waiting, and terminates those that are not the control plane's. */
async function endBlockers(node: Node, client: pg.Client, over: AbortSignal, events: ObservedEvent[]): Promise<void> {
  // Known to the driver, but not to its types.
  const { processID: pid } = client as pg.Client & { processID: number }
  for (;;) {
    const waited = await pause(patience_ms, true, { signal: over }).catch(() => false)
    if (!waited) return
    const ended = await withSuperuser(node, {}, (other) => endBlockersOf(other, pid)).catch(() => [])
    for (const { blocker, usename } of ended) {
      const message = `a session of ${usename} (process ${blocker}) was terminated: it kept the control plane waiting for a lock`
      events.push({ kind: 'session ended', message })
    }
  }
}

async function endBlockersOf(client: pg.Client, pid: number) {
  // Chosen first and terminated then: in one condition PostgreSQL may evaluate the termination first.
  const { rows } = await client.query<{ blocker: number; usename: string }>(
    `with blockers as materialized (
       select a.pid, a.usename from pg_catalog.pg_stat_activity a
       where a.pid = any (pg_catalog.pg_blocking_pids($1)) and a.usename <> $2)
     select b.pid as blocker, b.usename, pg_catalog.pg_terminate_backend(b.pid) from blockers b`,
    [pid, superuser],
  )
  return rows
}
