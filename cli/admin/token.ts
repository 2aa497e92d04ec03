// howdah admin token create | list | revoke. A token belongs to one project and acts for one of its members; its secret is
// printed once, alone on stdout, so that `token=$(howdah admin token create …)` works.
import { roles } from '#contract/endpoint.ts'
import { insertOperatorAct } from '#server/audit/operator.ts'
import { listTokens, removeToken } from '#server/identity/store.ts'
import { createToken } from '#server/identity/token.ts'
import { days_ahead_max } from '#server/moment.ts'
import type { Sql } from '#server/store/db.ts'
import { listMembers } from '#server/member/store.ts'
import { CommandError, json_option, required, UsageError } from '../command.ts'
import type { OperatorCommand } from '../operator-command.ts'
import { parseName, projectOf } from './name.ts'
import { withStore } from '../store.ts'
import { printRows } from '../table.ts'

const day_ms = 86_400_000

export const tokenCreate: OperatorCommand = {
  name: 'admin token create',
  summary: 'Make a personal access token and print it, once.',
  options: {
    name: { value: 'text', required: true, description: 'What the token is for.' },
    project: { value: 'id', description: 'The project; may be left out where there is only one.' },
    user: { value: 'email', description: 'For whom it acts; left out: the project’s first owner.' },
    'expires-days': { value: 'days', description: `Days until it expires, 1 to ${days_ahead_max}; left out: never.` },
  },
  run: async ({ config, need, text }) => {
    const name = parseName(need('name'))
    const expires_at = parseExpiry(text('expires-days'))
    const token = await withStore(config, (db) =>
      db.transaction(async (tx) => {
        const project_id = await projectOf(tx, text('project'))
        const user_id = await memberOf(tx, project_id, text('user'))
        const made = await createToken(tx, { name, project_id, user_id, ...(expires_at && { expires_at }) })
        await insertOperatorAct(tx, 'createToken', { project_id, resource_id: made.public_key })
        return made
      }),
    )
    console.log(`${token.public_key}.${token.secret_key}`)
    if (process.stdout.isTTY) console.error('Keep it: it is not stored in clear and cannot be shown again.')
  },
}

export const tokenList: OperatorCommand = {
  name: 'admin token list',
  summary: 'List the tokens, without their secrets.',
  options: { project: { value: 'id', description: 'Only those of one project.' }, ...json_option },
  run: async ({ config, text, isSet }) => {
    const tokens = await withStore(config, (db) => listTokens(db, text('project')))
    const rows = tokens.map((token) => ({
      public_key: token.public_key,
      name: token.name,
      project_id: token.project_id,
      user_id: String(token.user_id),
      created: token.created.toISOString(),
      expires_at: token.expires_at?.toISOString() ?? null,
      last_used_at: token.last_used_at?.toISOString() ?? null,
    }))
    printRows(
      rows,
      ['public_key', 'name', 'project_id', 'user_id', 'created', 'expires_at', 'last_used_at'],
      isSet('json'),
    )
  },
}

export const tokenRevoke: OperatorCommand = {
  name: 'admin token revoke',
  summary: 'Make a token worthless.',
  positionals: required('public_key'),
  details: 'It stops working within three seconds, on every server. A revoked token cannot be brought back.',
  run: async ({ config, need }) => {
    // People paste the whole token; the part before the dot names it.
    const public_key = need('public_key').split(/[.:]/)[0] ?? ''
    await withStore(config, (db) =>
      db.transaction(async (tx) => {
        const project_id = await removeToken(tx, public_key)
        if (project_id === undefined) {
          throw new CommandError(`there is no token ${public_key}; howdah admin token list shows them all`)
        }
        await insertOperatorAct(tx, 'revokeToken', { project_id, resource_id: public_key, public_key })
      }),
    )
    console.log(`Token ${public_key} is revoked.`)
  },
}

function parseExpiry(days: string | undefined): Date | undefined {
  if (days === undefined) return undefined
  const number = /^\d{1,4}$/.test(days) ? Number(days) : 0
  if (number < 1 || number > days_ahead_max)
    throw new UsageError(`--expires-days: a whole number from 1 to ${days_ahead_max}`)
  return new Date(Date.now() + number * day_ms)
}

async function memberOf(sql: Sql, project_id: string, email: string | undefined): Promise<number> {
  const members = (await listMembers(sql, project_id)).filter(({ disabled_at }) => disabled_at === null)
  const member =
    email === undefined
      ? members.toSorted((a, b) => roles.indexOf(b.role) - roles.indexOf(a.role))[0]
      : members.find((candidate) => candidate.email.toLowerCase() === email.toLowerCase())
  if (member !== undefined) return member.user_id
  throw new CommandError(
    `project ${project_id} has no enabled member ${email ?? 'at all'}; howdah admin user create --project adds one`,
  )
}
