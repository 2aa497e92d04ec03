// The audit log of a project: every request that wanted to change something, by whom, from where, and how it ended.
// It has ids and outcomes only: no bodies, no secrets.
import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Timestamp } from './schema.ts'

export const audit_entries_max = 500
export const audit_entries_default = 100

export const AuditEntry = Type.Object(
  {
    id: Type.String(),
    time: Timestamp,
    user_id: Type.String(),
    email: Type.String({ description: 'Of the user, as it was then.' }),
    public_key: Type.Optional(Type.String({ description: 'Of the token, where the caller used one.' })),
    address: Type.String({ description: 'Where the request came from.' }),
    endpoint: Type.String({ description: 'Its name, such as createService.' }),
    method: Type.String(),
    path: Type.String(),
    resource_id: Type.Optional(Type.String({ description: 'What was made or changed.' })),
    status: Type.Integer(),
    code: Type.Optional(Type.String({ description: 'The error code of a refused request.' })),
    request_id: Type.String(),
  },
  { $id: 'AuditEntry' },
)
export type AuditEntry = Static<typeof AuditEntry>

export const audit_endpoints = {
  listAudit: endpoint({
    method: 'GET',
    path: '/projects/{project_id}/audit',
    summary: 'Who changed what in a project, newest first',
    description:
      'Refused requests are there too, and the logins of the members. `last_cursor` leads to older entries; it is absent on the last page.',
    tag: 'Audit',
    access: 'admin',
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: audit_entries_max, default: audit_entries_default })),
      cursor: Type.Optional(Type.String({ maxLength: 64 })),
    }),
    success: 200,
    output: Type.Object({ entries: Type.Array(AuditEntry), last_cursor: Type.Optional(Type.String()) }),
  }),
}
