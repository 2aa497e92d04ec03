// Projects from their making to their end, and who their callers are, for both kinds of caller.
import { beforeAll, expect, test } from 'vitest'
import { unknown_project } from '#contract/fault.ts'
import { shared } from '#test/shared.ts'
import type { Call } from '../call.ts'
import { startInRegion } from './region.ts'
import { openCallers, type TestToken, userCredential, userVerifier } from './callers.ts'

type Project = { id: string; name: string; code: string; message: string }

const installation = shared(() => startInRegion({ verifiers: [userVerifier] }))
const callers = shared(() => openCallers(installation))
let person: TestToken
let user: Call

beforeAll(async () => {
  person = await callers.newToken('viewer')
  user = callers.callWith(userCredential(person))
})

async function newProject(name: string): Promise<string> {
  const made = await user<Project>('POST', '/projects', { name })
  expect(made.status).toBe(201)
  return made.body.id
}

test('a user makes a project, owns it, and sees it beside the others they belong to', async () => {
  const made = await user<Project>('POST', '/projects', { name: '  of my own ' })
  expect([made.status, made.body]).toEqual([201, { id: expect.stringMatching(/^[a-z0-9]{10}$/), name: 'of my own' }])
  const { body } = await user('GET', '/projects')
  const told = { created: expect.stringMatching(/Z$/), services: 0 }
  expect(body).toEqual([
    { id: installation.project_id, name: 'default', role: 'viewer', ...told },
    { ...made.body, role: 'owner', ...told },
  ])
  const members = await user('GET', `/projects/${made.body.id}/members`)
  expect(members.body).toMatchObject([{ user_id: String(person.user_id), role: 'owner', joined: true }])
})

test('a token sees its own project only and makes no other', async () => {
  const call = callers.callWith(person.token)
  expect((await call('GET', '/projects')).body).toMatchObject([
    { id: installation.project_id, name: 'default', role: 'viewer' },
  ])
  const refused = await installation.call('POST', '/projects', { name: 'another' })
  expect([refused.status, refused.body.code]).toEqual([403, 'FORBIDDEN'])
  expect(refused.body.message).toContain('log in')
})

test('a user is told who they are, in the object of their kind only', async () => {
  const id = String(person.user_id)
  const { body } = await user('GET', '/auth/info')
  expect(body).toEqual({ type: 'oauth', oauth: { user: { id, email: `${id}@login`, name: 'a user' } } })
})

test('a new name is seen at once', async () => {
  const { token, project_id } = await callers.newToken('admin', { project_id: await newProject('before') })
  const call = callers.callWith(token)
  expect((await call('GET', '/projects')).body).toMatchObject([{ id: project_id, name: 'before', role: 'admin' }])
  const renamed = await call<Project>('POST', `/projects/${project_id}/rename`, { name: 'after' })
  expect([renamed.status, renamed.body]).toEqual([200, { id: project_id, name: 'after' }])
  expect((await call('GET', '/projects')).body).toMatchObject([{ id: project_id, name: 'after' }])
})

test('a project with services stays, and the refusal names them', async () => {
  const project_id = await newProject('full')
  await callers.db.query(
    `insert into services (service_id, project_id, name, region_code, service_type, environment,
       password_verifier)
     select 'inside' || lpad(n::text, 4, '0'), $1, 'number ' || n, 'elsewhere', 'POSTGRES', 'DEV', ''
     from generate_series(1, 12) n`,
    [project_id],
  )
  const refused = await user<Project>('DELETE', `/projects/${project_id}`)
  expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
  expect(refused.body.message).toContain('service inside0001 (number 1), ')
  expect(refused.body.message).toMatch(/ and 2 more$/)
  await callers.db.query('delete from services where project_id = $1', [project_id])
  expect((await user('DELETE', `/projects/${project_id}`)).status).toBe(204)
})

test('with an empty project its tokens are removed, and no request finds it any more', async () => {
  const project_id = await newProject('short-lived')
  const { token } = await callers.newToken('owner', { project_id })
  const call = callers.callWith(token)
  expect((await call('GET', `/projects/${project_id}/services`)).status).toBe(200)
  expect((await user('GET', `/projects/${project_id}/services`)).status).toBe(200)
  expect((await call('DELETE', `/projects/${project_id}`)).status).toBe(204)
  expect((await call('GET', '/projects')).status).toBe(401)
  const gone = await user<Project>('GET', `/projects/${project_id}/services`)
  expect([gone.status, gone.body.message]).toEqual([404, unknown_project])
})

test('a project that another server has just deleted takes nothing new', async () => {
  const project_id = await newProject('deleted elsewhere')
  const services = `/projects/${project_id}/services`
  expect((await user('GET', services)).status).toBe(200)
  await callers.db.query('delete from projects where id = $1', [project_id])
  const late = await user('POST', services, { name: 'too late' })
  expect([late.status, late.body.message]).toEqual([404, unknown_project])
})
