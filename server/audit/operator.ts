// What the operator changes by a command, as entries of the audit log, each in the transaction of its change. They have no user. An act
// that the API has, too, is written like a request of it, so that a search for the one finds the other.
import { randomUUID } from 'node:crypto'
import { api, type EndpointName } from '#contract/api.ts'
import { operator_address, operator_email } from '#contract/audit.ts'
import type { Sql } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import { insertAudit, type NewAudit } from './store.ts'

/** ids: those that the path names. */
export async function insertOperatorAct(
  tx: Sql,
  endpoint: EndpointName,
  { project_id, resource_id, ...ids }: { project_id: string; resource_id: string; public_key?: string },
): Promise<void> {
  const { method, path, success } = api[endpoint]
  const named = Object.entries({ project_id, ...ids })
  await insertAudit(tx, {
    ...newAct(),
    project_id,
    endpoint,
    method,
    path: named.reduce<string>((filled, [name, id]) => filled.replace(`{${name}}`, id), path),
    resource_id,
    status: success,
  })
}

/** In each project that the user uses; without any, in none, where the operator alone finds it. */
export async function insertOperatorActOnUser(
  tx: Sql,
  endpoint: 'resetPassword' | 'disableUser' | 'enableUser',
  user_id: number,
): Promise<void> {
  const used = await tx.query(sql<{ project_id: string | null }>`
    select m.project_id from users u left join members m on m.user_id = u.id and m.used_at is not null where u.id = ${user_id}`)
  const resource_id = String(user_id)
  const act = { ...newAct(), endpoint, method: 'POST', path: `/users/${resource_id}/${endpoint}`, status: 200 } as const
  for (const { project_id } of used) await insertAudit(tx, { ...act, project_id, resource_id })
}

/** In no project: a key signs for all of them, and the operator alone finds it. */
export async function insertOperatorActOnKey(tx: Sql, endpoint: 'rotateKey' | 'removeKey', kid: string): Promise<void> {
  const act = { ...newAct(), endpoint, method: 'POST', path: `/keys/${kid}/${endpoint}`, status: 200 } as const
  await insertAudit(tx, { ...act, project_id: null, resource_id: kid })
}

function newAct() {
  const by = {
    user_id: null,
    email: operator_email,
    public_key: null,
    client: 'cli',
    address: operator_address,
  } as const
  return { ...by, code: null, request_id: randomUUID() } satisfies Partial<NewAudit>
}
