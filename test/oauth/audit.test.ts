// Logins in the audit log: a project reads those of the members who use it, and no secret that a user typed.
import { startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { beforeAll, expect, test } from 'vitest'
import type { AuditEntry } from '#contract/audit.ts'
import { newCall } from '#test/call.ts'
import { until } from '#test/until.ts'
import { newBrowser } from './browser.ts'
import { askAs, logIn, openPeople, type Person } from './people.ts'

const installation = shared(startInstallation)
const people = shared(() => openPeople(installation))
let origin: string

beforeAll(() => {
  origin = installation.server.public_url
})

const listLogins = async (project_id: string, token: string) => {
  const call = newCall(installation.server.api_url, token)
  const { body } = await call<{ entries: AuditEntry[] }>('GET', `/projects/${project_id}/audit?limit=500`)
  return body.entries.filter((entry) => entry.endpoint === 'login')
}

/** Logs in and reads in the project, as a member who uses it. */
const use = async (person: Person, project_id: string) => {
  const { access_token } = await logIn(origin, person)
  const { status } = await newCall(installation.server.api_url, access_token)('GET', `/projects/${project_id}/services`)
  expect(status).toBe(200)
}

const newProject = async (access_token: string) => {
  const call = newCall(installation.server.api_url, access_token)
  const { body } = await call<{ id: string }>('POST', '/projects', { name: 'elsewhere' })
  return { project_id: body.id, call }
}

test('the audit log tells a project of the logins of its members, those that failed too, and of no others', async () => {
  const person = await people.newPerson('viewer')
  const { email, password, user_id } = person
  await use(person, installation.project_id)
  const enter = async (typed: { email: string; password: string }) => {
    const browser = newBrowser()
    return browser.submit(await browser.follow(await browser.get(askAs('howdah-console', origin).url)), typed)
  }
  expect((await enter({ email, password: 'my wrong password' })).status).toBe(403)
  expect((await enter({ email: 'my password', password })).status).toBe(403)
  expect((await enter({ email, password })).location).toBeDefined()
  const { token, project_id } = installation
  const found = await until(async () => {
    const logins = await listLogins(project_id, token)
    const own = logins.filter((entry) => entry.user_id === user_id)
    return own.length === 2 && { own, all: JSON.stringify(logins) }
  })
  expect(found.own).toMatchObject([
    { email, address: '127.0.0.1', status: 200 },
    { email, address: '127.0.0.1', status: 403, code: 'FORBIDDEN' },
  ])
  expect(found.all).not.toMatch(/my (wrong )?password/)
})

test('no project reads the logins of a user by adding them', async () => {
  const [stranger, victim] = [await people.newPerson(), await people.newPerson()]
  await use(victim, installation.project_id)
  const { access_token } = await logIn(origin, stranger)
  const { project_id, call } = await newProject(access_token)
  const added = await call('POST', `/projects/${project_id}/members`, { email: victim.email, role: 'viewer' })
  expect(added.status).toBe(201)
  await logIn(origin, victim)
  const usersOf = async () => (await listLogins(project_id, access_token)).map(({ user_id }) => user_id)
  expect(await usersOf()).toEqual([])
  // From their first request in it on, and none from before.
  await use(victim, project_id)
  expect(await usersOf()).toEqual([])
  await logIn(origin, victim)
  await logIn(origin, stranger)
  expect(await usersOf()).toEqual([stranger.user_id, victim.user_id])
})
