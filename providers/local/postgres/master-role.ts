// The master role's verifier and the extensions of its database, set over the unix socket as the superuser that only
// the control plane can be. It changes only what differs, and leaves no trace of a verifier in the server's log.
import type pg from 'pg'
import type { Effect } from '../effect.ts'
import { master_database, master_role, type Place } from '../layout.ts'
import { withSuperuser } from './superuser.ts'

export type RoleWish = { password_verifier: string; extensions: readonly string[] }

export async function ensureMasterRole(effect: Effect, place: Place, wish: RoleWish): Promise<void> {
  // One connection is a third of the cost of a create: a second one only for those who need their own database.
  const database = wish.extensions.length > 0 ? master_database : 'postgres'
  await withSuperuser(place, { database }, async (client) => {
    await ensureVerifier(effect, client, wish.password_verifier)
    await ensureExtensions(effect, client, wish.extensions)
  })
}

async function ensureVerifier(effect: Effect, client: pg.Client, verifier: string): Promise<void> {
  const { rows } = await client.query<{ rolpassword: string | null }>(
    'select rolpassword from pg_authid where rolname = $1',
    [master_role],
  )
  if (rows[0]?.rolpassword === verifier) return
  await effect('master role: set verifier')
  await client.query(`alter role ${master_role} login password ${client.escapeLiteral(verifier)}`)
}

async function ensureExtensions(effect: Effect, client: pg.Client, extensions: readonly string[]): Promise<void> {
  if (extensions.length === 0) return
  const { rows } = await client.query<{ extname: string }>('select extname from pg_extension')
  const there = new Set(rows.map((row) => row.extname))
  for (const extension of extensions) {
    if (there.has(extension)) continue
    await effect('master database: create extension')
    await client.query(`create extension if not exists ${client.escapeIdentifier(extension)} cascade`)
  }
}
