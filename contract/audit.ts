// The audit log of a project: every request that wanted to change something, by whom, from where, and how it ended.
// It has ids and outcomes only: no bodies, no secrets.
import type { Static } from 'typebox'
import { endpoint } from './endpoint.ts'
import { fault_codes } from './fault.ts'
import { number_pattern, PublicKey, UserId } from './id.ts'
import { choice, input, integer, moment, momentInput, text } from './schema.ts'
import { Type } from './type.ts'

const audit_entries_max = 500
export const audit_entries_default = 100

/** In place of a user's e-mail and an address, for what the operator of the server did by a command. */
export const operator_email = 'operator'
export const operator_address = 'localhost'

/** Of a request. */
export const audit_outcomes = ['done', 'refused'] as const

/** By the first word of their user agents, after `howdah-`. */
export const audit_clients = ['cli', 'mcp'] as const
export type AuditClient = (typeof audit_clients)[number]

export const AuditEntry = Type.Object(
  {
    id: text('The id of the entry.', '1042'),
    time: moment('When the outcome was known.'),
    user_id: Type.Optional(UserId),
    email: text(
      `Of the user, as it was then; \`${operator_email}\`, without a user_id, for the operator of the server.`,
      'ada@example.com',
    ),
    public_key: Type.Optional(PublicKey),
    client: Type.Optional(
      choice(audit_clients, 'The program that sent the request, as it says itself: the command, or an agent.', 'mcp'),
    ),
    address: text(`Where the request came from; \`${operator_address}\` for the operator.`, '203.0.113.9'),
    endpoint: text('The name of the endpoint, such as createService.', 'createService'),
    method: choice(['GET', 'POST', 'DELETE'], 'The HTTP method.', 'POST'),
    path: text('The path, with the ids that it named.', '/projects/p8d4t6w1zn/services'),
    resource_id: Type.Optional(text('The id of the thing that the request made or changed.', 'k3v9x2m7qp')),
    status: integer('The HTTP status of the answer.', 202),
    code: Type.Optional(choice(fault_codes, 'The error code of a refused request.', 'FORBIDDEN')),
    request_id: text('The X-Request-Id of the answer.', '0b5f6c1e-8a1d-4c55-9d0e-3f2a7b9c4d10'),
  },
  { $id: 'AuditEntry', description: 'A request that wanted to change something, and its outcome.' },
)
export type AuditEntry = Static<typeof AuditEntry>

export const audit_endpoints = {
  listAudit: endpoint({
    method: 'GET',
    path: '/projects/{project_id}/audit',
    summary: 'Who changed what in a project, newest first',
    description:
      'Refused requests are there too, the logins of members since they use the project, and what the operator of the server did by `howdah admin`. `last_cursor` leads to older entries; it is absent on the last page.',
    tag: 'Audit',
    access: 'admin',
    query: input(
      {
        limit: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: audit_entries_max,
            default: audit_entries_default,
            description: 'How many entries at most.',
            examples: [50],
          }),
        ),
        cursor: Type.Optional(text('`last_cursor` of an earlier answer.', 'YmVmb3JlOjEwNDI', { maxLength: 64 })),
        user_id: Type.Optional(
          text(`Of this user only, or of the \`${operator_email}\`, who has no id.`, '7', {
            pattern: `${number_pattern}|^${operator_email}$`,
          }),
        ),
        endpoint: Type.Optional(
          text('Of this endpoint only; `login` for logins.', 'deleteService', { pattern: '^[A-Za-z]{1,64}$' }),
        ),
        resource_id: Type.Optional(
          text('About the thing with this id only.', 'k3v9x2m7qp', { pattern: '^[A-Za-z0-9]{1,32}$' }),
        ),
        outcome: Type.Optional(
          choice(audit_outcomes, 'Only requests that were done, or only those that were refused.', 'refused'),
        ),
        since: Type.Optional(momentInput('Entries from this time on only.', '2026-11-15T11:00:00Z')),
        until: Type.Optional(momentInput('Entries before this time only.')),
      },
      { limit: 50, endpoint: 'deleteService', since: '2026-11-15T11:00:00Z' },
    ),
    success: 200,
    output: Type.Object({
      entries: Type.Array(AuditEntry, { description: 'Newest first.' }),
      last_cursor: Type.Optional(text('There when older entries follow. Opaque.', 'YmVmb3JlOjEwNDI')),
    }),
  }),
}
