// The roles by which copies in other regions read a service. Each is there while its copy is made, and no longer; its rule in pg_hba.conf
// lets it replicate and do nothing else. A service that was itself copied meanwhile loses those that came with its data.
//
// A superuser makes them, and they have no members: no tenant can alter, become or drop one. What tells them from roles of the same name
// that a tenant made is REPLICATION, which no tenant can give.
import type pg from 'pg'
import type { WantedCopy } from '../../provider.ts'
import type { Effect } from '../host/effect.ts'
import { endSessionsOf } from './reserved-roles.ts'
import { TenantSetback } from './tenant-setback.ts'
import { copy_role_prefix, copyRoleOf } from '../../postgres/names.ts'

type Found = { name: string; oid: number; verifier: string | null; is_ours: boolean }

export async function ensureCopyRoles(effect: Effect, client: pg.Client, copies: readonly WantedCopy[]): Promise<void> {
  const { rows } = await client.query<Found>(
    `select r.rolname as name, r.oid, r.rolpassword as verifier, r.rolreplication as is_ours
     from pg_catalog.pg_authid r where pg_catalog.starts_with(r.rolname::text, $1)`,
    [copy_role_prefix],
  )
  const wanted = new Set(copies.map(({ copy_id }) => copyRoleOf(copy_id)))
  for (const { name, oid } of rows.filter((one) => one.is_ours && !wanted.has(one.name))) {
    await effect('copy role: remove')
    await endSessionsOf(client, oid)
    await client.query(`drop role ${client.escapeIdentifier(name)}`)
  }
  for (const { copy_id, password_verifier } of copies) {
    const name = copyRoleOf(copy_id)
    const found = rows.find((one) => one.name === name)
    if (found?.is_ours && found.verifier === password_verifier) continue
    if (found && !found.is_ours) throw new TenantSetback(takenSentence(name))
    await effect('copy role: make')
    const verb = found ? 'alter' : 'create'
    await client.query(`${verb} role ${name} login replication password ${client.escapeLiteral(password_verifier)}`)
  }
}

const takenSentence = (name: string) =>
  `the role ${name} was not made by the control plane, which needs one of that name; rename it (alter role ${name} rename to …) or drop it`
