// Where too little is left of the disk or of its quota, a service refuses writes: transactions become read-only
// by a setting, and statements that are writing are interrupted. A transaction that sets itself read-write, to free space, is
// allowed. A service that goes on to grow is shut: its clients are disconnected, and refused until it is opened again.
import type { Node } from '../host/layout.ts'
import { ensureClientRules, ensureWritesSetting, findFilesHash } from '../postgres/files.ts'
import { ensureReloaded, findPostmaster } from '../postgres/process.ts'
import { withSuperuser } from '../postgres/superuser.ts'
import type { PostgresHost } from '../postgres/postgres-host.ts'

type WritesHost = Pick<PostgresHost, 'effect' | 'accessOf'>

/** At once for a running server, whatever pass is under way. */
export async function ensureWrites(host: WritesHost, node: Node): Promise<void> {
  await ensureWritesSetting(host, node)
  await ensureClientRules(host, node)
  const { postmaster } = await findPostmaster(node)
  if (!postmaster?.ready) return
  await ensureReloaded(host.effect, node, postmaster, await findFilesHash(node))
  await ensureWritersStopped(host, node)
}

/** One statement can fill a disk. */
export async function ensureWritersStopped(host: WritesHost, node: Node): Promise<void> {
  const { logins, since } = host.accessOf(node.service_id)
  if (!logins) {
    await host.effect('clients: disconnect')
    await withSuperuser(node, {}, (client) =>
      client.query(
        `select count(pg_catalog.pg_terminate_backend(pid)) from pg_catalog.pg_stat_activity
         where backend_type = 'client backend' and usename <> 'postgres'`,
      ),
    )
  } else if (since) {
    await host.effect('writers: interrupt')
    await withSuperuser(node, {}, (client) =>
      client.query(
        `select count(pg_catalog.pg_cancel_backend(pid)) from pg_catalog.pg_stat_activity
         where backend_type = 'client backend' and usename <> 'postgres' and state = 'active'
           and backend_xid is not null and xact_start < $1`,
        [since],
      ),
    )
  }
}
