// How far a standby is that does not stream: asked at its own socket, or, before its server is ready, by the title of its startup process.
import { commandOf } from '../../host/daemon.ts'
import { readIfThere } from '../../host/read.ts'
import type { Node } from '../host/layout.ts'
import { findPostmaster } from '../postgres/process.ts'
import { withSuperuser } from '../postgres/superuser.ts'

const answer_ms_max = 1_000

/** Up to where it has received and replayed, and whether a query of a reader keeps it from going on; undefined when it gives no answer. */
export async function findReplay(node: Node): Promise<{ reached: string; is_held: boolean } | undefined> {
  try {
    return await withSuperuser(node, { connect_timeout_ms: answer_ms_max }, async (client) => {
      const { rows } = await client.query<{ reached: string; is_held: boolean }>(
        `select concat_ws(' and ', pg_catalog.pg_last_wal_receive_lsn(), pg_catalog.pg_last_wal_replay_lsn()) as reached,
           exists (select from pg_catalog.pg_stat_activity where backend_type = 'startup'
                   and (wait_event like 'RecoveryConflict%' or wait_event_type in ('Lock', 'BufferPin'))) as is_held`,
      )
      return rows[0]
    })
  } catch {
    return undefined
  }
}

/** The WAL file that its server waits for before it is ready; undefined: it waits for none. */
export async function findAwaited(node: Node): Promise<string | undefined> {
  const { postmaster } = await findPostmaster(node)
  if (!postmaster) return undefined
  const children = (await readIfThere(`/proc/${postmaster.pid}/task/${postmaster.pid}/children`)) ?? ''
  for (const pid of children.split(' ').filter(Boolean)) {
    const title = (await commandOf(Number(pid))).join(' ')
    const [, awaited] = / startup waiting for ([0-9A-F]{24})\b/.exec(title) ?? []
    if (awaited !== undefined) return awaited
  }
  return undefined
}
