// How far the standbys of a service are behind, as its primary reports it. A caller that polls every few seconds uses one
// session, which stays open meanwhile: a new one each time would cost the primary a process and a line in its log.
import type pg from 'pg'
import type { Node } from '../host/layout.ts'
import { endSession, newSession } from '../postgres/superuser.ts'
import { type StandbyLag, standbyLagsOf } from './lag.ts'
import { standby_role } from '../../postgres/names.ts'

export type LagReader = {
  /** By the standbys' names. Throws when the primary cannot be asked. */
  read(primary: Node): Promise<ReadonlyMap<string, StandbyLag>>
  close(): Promise<void>
}

type Session = { client: pg.Client; connected: Promise<unknown>; idle: NodeJS.Timeout }

const answer_ms_max = 2_000
/** No caller polls any more: the service has no standbys, or another server polls it. */
const idle_ms_max = 30_000

export function newLagReader(): LagReader {
  const sessions = new Map<string, Session>()
  let closed = false
  const end = async (key: string, session: Session) => {
    if (sessions.get(key) === session) sessions.delete(key)
    clearTimeout(session.idle)
    await endSession(session.client)
  }
  const open = (key: string, primary: Node): Session => {
    const client = newSession(primary, { statement_timeout_ms: answer_ms_max, connect_timeout_ms: answer_ms_max })
    const idle = setTimeout(() => void end(key, session), idle_ms_max).unref()
    const session: Session = { client, connected: client.connect(), idle }
    client.once('end', () => void end(key, session))
    sessions.set(key, session)
    return session
  }
  return {
    async read(primary) {
      if (closed) throw new Error('the lag reader is closed')
      const key = `${primary.service_id} at ${primary.sockets}, ${primary.port}`
      const session = sessions.get(key) ?? open(key, primary)
      session.idle.refresh()
      try {
        await session.connected
        return await ask(session.client)
      } catch (error) {
        await end(key, session)
        throw error
      }
    },
    close: async () => {
      closed = true
      await Promise.all([...sessions].map(([key, session]) => end(key, session)))
    },
  }
}

async function ask(client: pg.Client): Promise<ReadonlyMap<string, StandbyLag>> {
  const { rows } = await client.query<Record<string, unknown>>({
    name: 'lags',
    text: `select application_name as name,
                  coalesce(pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), replay_lsn), 0)::float8 as bytes,
                  coalesce(extract(epoch from replay_lag), 0)::float8 as seconds,
                  state, sync_state in ('sync', 'quorum') as is_sync
           from pg_catalog.pg_stat_replication where usename = $1`,
    values: [standby_role],
  })
  return standbyLagsOf(rows)
}
