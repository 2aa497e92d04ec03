// Who is let in at all: no caller with a credential that is wrong in any way, and to no kind of caller a project of others is known. One door
// leads to all endpoints, so some of them are tried in each run; test/security/role-matrix.test.ts asks every endpoint as every kind of caller.
import { beforeAll, describe, expect, test } from 'vitest'
import { isRole, type Role, roles } from '#contract/endpoint.ts'
import { unknown_project } from '#contract/fault.ts'
import { removeToken } from '#server/identity/store.ts'
import { shared } from '#test/shared.ts'
import { newCall } from '../call.ts'
import { startInRegion } from './region.ts'
import { openCallers, type TestToken, userCredential, userVerifier } from './callers.ts'
import { giveAddresses } from '#test/addresses.ts'
import { sampleOf } from '#test/sample.ts'
import { pathOf, type Row, rows, valid_bodies } from './requests.ts'

const kinds = ['token', 'token with a role of its own', 'user'] as const
type Kind = (typeof kinds)[number]

const installation = shared(() => startInRegion({ verifiers: [userVerifier] }))
const callers = shared(() => openCallers(installation))
let tokens: Record<Role, TestToken>
let limited: Record<Role, TestToken>
let foreign: TestToken
let expired: TestToken
let revoked: TestToken

beforeAll(async () => {
  const ofEveryRole = async (newToken: (role: Role) => Promise<TestToken>) => {
    const made = roles.map(async (role) => [role, await newToken(role)] as const)
    return Object.fromEntries(await Promise.all(made)) as Record<Role, TestToken> // one entry for each role
  }
  tokens = await ofEveryRole((role) => callers.newToken(role))
  limited = await ofEveryRole((role) => callers.newToken('owner', { token_role: role }))
  foreign = await callers.newToken('owner', { project_id: await callers.newProject() })
  expired = await callers.newToken('owner', { expires_at: new Date(Date.now() - 1000) })
  revoked = await callers.newToken('owner')
  expect(await removeToken(callers.db, revoked.public_key)).toBeDefined()
  await callers.db.query(
    `insert into services (service_id, project_id, name, region_code, service_type, environment,
       password_verifier)
     values ('something0', $1, 'something', 'elsewhere', 'POSTGRES', 'DEV', '')`,
    [installation.project_id],
  )
  await giveAddresses(callers.db)
})

function send(row: Row, authorization: string | undefined, project_id: string) {
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
  const path = pathOf(row, { project_id })
  return newCall(installation.server.api_url, undefined)(row.endpoint.method, path, valid_bodies[row.name], headers)
}

function credentialOf(kind: Kind, role: Role): string {
  if (kind === 'user') return `Bearer ${userCredential(tokens[role])}`
  return `Bearer ${(kind === 'token' ? tokens : limited)[role].token}`
}

const with_credential = sampleOf(
  rows.filter(({ endpoint }) => endpoint.access !== 'public'),
  12,
)

describe.each(with_credential)('$name', (row) => {
  test('refuses every caller without a valid credential, always in the same words', async () => {
    const { public_key, secret_key } = tokens.owner
    const authorizations = [
      undefined,
      'Bearer',
      'Bearer x',
      `Bearer ${public_key}`,
      `Bearer ${public_key}.`,
      `Bearer .${secret_key}`,
      `Bearer ${public_key}.${secret_key}x`,
      `Bearer ${public_key}.${secret_key.slice(0, -1)}`,
      `Bearer ${public_key}.${revoked.secret_key}`,
      `Bearer ${revoked.public_key}.${secret_key}`,
      `Bearer ${public_key}${secret_key}`,
      `Token ${public_key}.${secret_key}`,
      `${public_key}.${secret_key}`,
      'Basic !!!',
      `Basic ${Buffer.from(`${public_key}:wrong`).toString('base64')}`,
      `Bearer ${expired.token}`,
      `Bearer ${revoked.token}`,
      `Bearer ${'x'.repeat(4000)}`,
    ]
    const seen = new Set<string>()
    for (const authorization of authorizations) {
      const answer = await send(row, authorization, installation.project_id)
      expect([answer.status, answer.body.code], authorization ?? 'no header').toEqual([401, 'UNAUTHORIZED'])
      const { date: _date, 'x-request-id': _id, ...headers } = Object.fromEntries(answer.headers)
      expect(headers['www-authenticate']).toBe('Bearer')
      seen.add(JSON.stringify([headers, answer.body]))
    }
    expect(seen.size).toBe(1)
  })

  if (isRole(row.endpoint.access)) {
    test('does not know a project of others, nor one with an unknown id', async () => {
      for (const kind of kinds) {
        const owner = credentialOf(kind, 'owner')
        const stranger = kind === 'user' ? `Bearer ${userCredential(foreign)}` : `Bearer ${foreign.token}`
        const attempts = [
          await send(row, stranger, installation.project_id),
          await send(row, owner, foreign.project_id),
          await send(row, owner, 'neverwas00'),
          await send(row, owner, 'NOT-AN-ID'),
          await send(row, credentialOf(kind, 'viewer'), '%00'),
        ]
        for (const answer of attempts) {
          expect(answer.status).toBe(404)
          expect(answer.body).toEqual({ code: 'NOT_FOUND', message: unknown_project })
        }
      }
    })
  }
})
