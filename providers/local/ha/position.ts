// How far a standby is: everything that it has received and made durable, replayed or not, and on which timeline. Asked at
// its own socket after its primary is fenced, so the answer is final.
// 1. A standby that has just started knows less of itself than it has, until it has read its own WAL to the end; only then
//    does it ask for more. Before that it has no position.
// 2. WAL received on a timeline that the replay has not yet reached is reported like no WAL at all: the caller waits.
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { Node } from '../host/layout.ts'
import { optionsOf } from '../../postgres/session-settings.ts'
import { endSession, socketOf } from '../postgres/superuser.ts'
import { parseLsn } from '../../postgres/lsn.ts'
import type { Position } from './quorum.ts'
import { superuser } from '../../postgres/names.ts'

/** replayed: the end of the last record that it has read whole. */
export type Asked = Position & { replayed: bigint }

const connect_timeout_ms = 2_000
const patience_ms = 4_000
const poll_every_ms = 5

/** Undefined when it cannot be asked, or does not know within seconds. */
export async function findPosition(node: Node, replayed_beyond = 0n): Promise<Asked | undefined> {
  const settings = {
    ...socketOf(node),
    user: superuser,
    database: 'postgres',
    application_name: 'howdah',
    options: optionsOf({ statement_timeout_ms: connect_timeout_ms }),
    // Only such a connection may ask for the timeline; statements it takes as well.
    replication: 'database',
    connectionTimeoutMillis: connect_timeout_ms,
    query_timeout: connect_timeout_ms,
  }
  const client = new pg.Client(settings)
  client.on('error', () => undefined)
  try {
    await client.connect()
    for (const deadline = performance.now() + patience_ms; performance.now() < deadline; await pause(poll_every_ms)) {
      const asked = await ask(client)
      if (asked !== undefined && asked.replayed > replayed_beyond) return asked
    }
    return undefined
  } catch {
    return undefined
  } finally {
    await endSession(client)
  }
}

async function ask(client: pg.Client): Promise<Asked | undefined> {
  const { rows: before } = await client.query<{ received: string | null; replayed: string | null }>(
    'select pg_catalog.pg_last_wal_receive_lsn() as received, pg_catalog.pg_last_wal_replay_lsn() as replayed',
  )
  const { rows: identified } = await client.query<{ timeline: string; xlogpos: string }>('IDENTIFY_SYSTEM')
  const [known] = before
  const [told] = identified
  if (!known?.received || !known.replayed || !told) return undefined
  const lsn = parseLsn(told.xlogpos)
  if (lsn < parseLsn(known.received)) return undefined
  // The driver gives an int8 as text.
  return { timeline: Number(told.timeline), lsn, replayed: parseLsn(known.replayed) }
}
