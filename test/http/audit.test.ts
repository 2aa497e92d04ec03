// The audit log: every request that wanted to change something, by whom and how it ended; it only grows, it can be read
// page by page, and there is no secret in it.
import { expect, test } from 'vitest'
import type { AuditEntry } from '#contract/audit.ts'
import type { FaultBody } from '#contract/fault.ts'
import { insertOperatorAct } from '#server/audit/operator.ts'
import { newLog } from '#server/log.ts'
import type { Call } from '../call.ts'
import { shared } from '../shared.ts'
import { startInRegion } from './region.ts'
import { openCallers, type TestToken, userCredential, userVerifier } from './callers.ts'

type Page = { entries: AuditEntry[]; last_cursor?: string } & FaultBody

const logged: string[] = []
const log = newLog('error', { write: (line) => void logged.push(line) })
const installation = shared(() => startInRegion({ verifiers: [userVerifier], log }))
const callers = shared(() => openCallers(installation))
let project_id: string
let owner: TestToken
let call: Call

// Every test has a log of its own.
async function inNewProject(): Promise<string> {
  project_id = await callers.newProject()
  owner = await callers.newToken('owner', { project_id })
  call = callers.callWith(owner.token)
  return `/projects/${project_id}`
}

async function entries(): Promise<AuditEntry[]> {
  const { body } = await call<Page>('GET', `/projects/${project_id}/audit?limit=500`)
  return body.entries
}

test('which program of ours sent it is told, and no text of another', async () => {
  const at = await inNewProject()
  for (const agent of ['howdah-mcp/1.0', 'howdah-cli/1.0', 'howdah-mcp', 'secret/1.0']) {
    await call('POST', `${at}/rename`, { name: 'renamed' }, { 'user-agent': agent })
  }
  const clients = (await entries()).map(({ client }) => client)
  expect(clients).toEqual([undefined, undefined, 'cli', 'mcp'])
})

test('a change is told with who, what, when, from where and how it ended', async () => {
  const at = await inNewProject()
  const renamed = await call('POST', `${at}/rename`, { name: 'renamed' }, { 'x-request-id': 'the-request' })
  expect(renamed.status).toBe(200)
  expect(await entries()).toEqual([
    {
      id: expect.stringMatching(/^\d+$/),
      time: expect.stringMatching(/Z$/),
      user_id: String(owner.user_id),
      email: owner.email,
      public_key: owner.public_key,
      address: '127.0.0.1',
      endpoint: 'renameProject',
      method: 'POST',
      path: `${at}/rename`,
      resource_id: project_id,
      status: 200,
      request_id: 'the-request',
    },
  ])
})

test('the made object is named, and a person who has logged in has no token', async () => {
  await inNewProject()
  const person = callers.callWith(userCredential(owner))
  const made = await person<{ id: string }>('POST', '/projects', { name: 'made' })
  project_id = made.body.id
  call = person
  const token = await call<{ public_key: string }>('POST', `/projects/${project_id}/tokens`, { name: 'a token' })
  const [newest, first] = await entries()
  expect(first).toMatchObject({ endpoint: 'createProject', path: '/projects', resource_id: project_id, status: 201 })
  expect(first).not.toHaveProperty('public_key')
  expect(newest).toMatchObject({ endpoint: 'createToken', resource_id: token.body.public_key, status: 201 })
})

test('refusals are there too, reads and strangers are not', async () => {
  const at = await inNewProject()
  // A request that reads may need a body, and so be a POST.
  await call('POST', `${at}/services/0000000000/metrics/series`, {})
  const viewer = callers.callWith((await callers.newToken('viewer', { project_id })).token)
  const elsewhere = callers.callWith((await callers.newToken('viewer', { project_id })).token)
  await viewer('GET', `${at}/services`)
  await viewer('DELETE', at)
  await call('POST', `${at}/services`, { name: 7 })
  await call('DELETE', `${at}/services/nosuchid00`)
  await elsewhere('DELETE', `/projects/${installation.project_id}`)
  await callers.callWith('not.a-token')('DELETE', at)
  const told = (await entries()).map(({ endpoint, path, status, code }) => ({ endpoint, path, status, code }))
  expect(told.toReversed()).toEqual([
    { endpoint: 'deleteProject', path: at, status: 403, code: 'FORBIDDEN' },
    { endpoint: 'createService', path: `${at}/services`, status: 400, code: 'INVALID_REQUEST' },
    { endpoint: 'deleteService', path: `${at}/services/nosuchid00`, status: 404, code: 'NOT_FOUND' },
    { endpoint: 'deleteProject', path: `/projects/${installation.project_id}`, status: 404, code: 'NOT_FOUND' },
  ])
})

test('no secret gets into it, not even a secret that was pasted into a path', async () => {
  const at = await inNewProject()
  const made = await call<{ secret_key: string }>('POST', `${at}/tokens`, { name: 'a token' })
  await call('DELETE', `${at}/tokens/${owner.token}`)
  await call('POST', `${at}/services/nosuchid00/updatePassword`, { password: 'a very secret password' })
  await call('POST', `${at}/rename?password=hunter2hunter2`, { name: 'x' })
  const [text] = await callers.db.query<{ text: string }>('select string_agg(a::text, chr(10)) as text from audit a')
  expect(text?.text).toContain(`${at}/tokens/{public_key}`)
  for (const secret of [made.body.secret_key, owner.secret_key, 'a very secret password', 'hunter2']) {
    expect(text?.text).not.toContain(secret)
  }
})

test('it is read page by page, newest first, while it grows', async () => {
  const at = await inNewProject()
  for (let n = 0; n < 7; n += 1) await call('POST', `${at}/rename`, { name: `name ${n}` }, { 'x-request-id': `r${n}` })
  const seen: string[] = []
  let cursor = ''
  for (let page = 0; page < 5; page += 1) {
    const { body } = await call<Page>('GET', `${at}/audit?limit=3${cursor}`)
    seen.push(...body.entries.map(({ request_id }) => request_id))
    await call('POST', `${at}/rename`, { name: 'meanwhile' }, { 'x-request-id': `later${page}` })
    if (body.last_cursor === undefined) break
    cursor = `&cursor=${body.last_cursor}`
  }
  expect(seen).toEqual(['r6', 'r5', 'r4', 'r3', 'r2', 'r1', 'r0'])
  for (const query of ['limit=0', 'limit=501', 'limit=x', 'cursor=x', 'cursor=', `cursor=${'x'.repeat(65)}`]) {
    const refused = await call<Page>('GET', `${at}/audit?${query}`)
    expect([refused.status, refused.body.code], query).toEqual([400, 'INVALID_REQUEST'])
  }
})

test('it is narrowed to a user, an endpoint, a thing, an outcome and a time', async () => {
  const at = await inNewProject()
  const other = await callers.newToken('developer', { project_id })
  const made = await call<{ public_key: string }>('POST', `${at}/tokens`, { name: 'a token' }, { 'x-request-id': 'r1' })
  const { body: before } = await call<Page>('GET', `${at}/audit`)
  await call('DELETE', `${at}/tokens/${made.body.public_key}`, undefined, { 'x-request-id': 'r2' })
  await callers.callWith(other.token)('POST', `${at}/rename`, { name: 'mine' }, { 'x-request-id': 'r3' })
  await call('POST', `${at}/rename`, { name: 'renamed' }, { 'x-request-id': 'r4' })
  const fitting = async (query: string) => {
    const { body } = await call<Page>('GET', `${at}/audit?${query}`)
    return body.entries.map(({ request_id }) => request_id)
  }
  expect(await fitting(`user_id=${other.user_id}`)).toEqual(['r3'])
  expect(await fitting('endpoint=renameProject')).toEqual(['r4', 'r3'])
  expect(await fitting('endpoint=renameProject&outcome=done')).toEqual(['r4'])
  expect(await fitting('outcome=refused')).toEqual(['r3'])
  expect(await fitting(`resource_id=${made.body.public_key}`)).toEqual(['r2', 'r1'])
  for (const zone of ['Z', '+00:00', '+0000', '-00']) {
    const time = encodeURIComponent(before.entries[0]?.time.replace('Z', zone) ?? '')
    expect(await fitting(`until=${time}`)).toEqual([])
    expect(await fitting(`since=${time}`)).toEqual(['r4', 'r3', 'r2', 'r1'])
  }
  const page = await call<Page>('GET', `${at}/audit?outcome=done&limit=1`)
  expect(await fitting(`outcome=done&limit=9&cursor=${page.body.last_cursor}`)).toEqual(['r2', 'r1'])
  for (const query of ['user_id=x', 'endpoint=%00', 'resource_id=a-b', 'outcome=failed', 'since=yesterday']) {
    expect((await call<Page>('GET', `${at}/audit?${query}`)).body.code, query).toBe('INVALID_REQUEST')
  }
})

test('it is narrowed to the operator, who is no user', async () => {
  const at = await inNewProject()
  await call('POST', `${at}/rename`, { name: 'renamed' })
  await insertOperatorAct(callers.db, 'revokeToken', { project_id, resource_id: 'gone', public_key: 'gone' })
  const { body } = await call<Page>('GET', `${at}/audit?user_id=operator`)
  expect(body.entries.map(({ email, endpoint }) => [email, endpoint])).toEqual([['operator', 'revokeToken']])
})

test('the store refuses to change or remove an entry', async () => {
  for (const statement of [`update audit set email = 'x'`, 'delete from audit', 'truncate audit']) {
    await expect(callers.db.query(statement)).rejects.toThrow('append-only')
  }
})

test('an entry that the store cannot take goes to the server’s log, and the answer stands', async () => {
  const at = await inNewProject()
  await callers.db.query('alter table audit rename to mislaid')
  try {
    expect((await call('POST', `${at}/rename`, { name: 'unheard' })).status).toBe(200)
  } finally {
    await callers.db.query('alter table mislaid rename to audit')
  }
  const line = logged.find((text) => text.includes('audit entry could not be stored'))
  expect(line).toContain(`"path":"${at}/rename"`)
  expect(await entries()).toEqual([])
})
