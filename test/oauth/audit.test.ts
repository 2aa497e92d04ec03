// Logins in the audit log: a project reads those of its members, and no secret that a user typed.
import { expect, test } from 'vitest'
import type { AuditEntry } from '#contract/audit.ts'
import { newId } from '#server/id.ts'
import { insertMember } from '#server/member/store.ts'
import { newCall } from '#test/call.ts'
import type { TestInstallation } from '#test/installation.ts'
import { until } from '#test/until.ts'
import { newBrowser } from './browser.ts'
import { askAs, logIn, type People } from './people.ts'
import { usePeople } from './use-people.ts'

let installation: TestInstallation
let people: People
let origin: string

usePeople((on) => {
  ;({ installation, people, origin } = on)
})

const listLogins = async (project_id: string, token: string) => {
  const call = newCall(installation.server.api_url, token)
  const { body } = await call<{ entries: AuditEntry[] }>('GET', `/projects/${project_id}/audit?limit=500`)
  return body.entries.filter((entry) => entry.endpoint === 'login')
}

test('the audit log tells a project of the logins of its members, those that failed too, and of no others', async () => {
  const { email, password, user_id } = await people.newPerson('viewer')
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
  const stranger = await people.newPerson()
  const elsewhere = newId()
  await people.db.query('insert into projects (id, name) values ($1, $1)', [elsewhere])
  await insertMember(people.db, { project_id: elsewhere, user_id: Number(stranger.user_id), role: 'owner' })
  const { access_token } = await logIn(origin, stranger)
  const logins = await listLogins(elsewhere, access_token)
  expect(logins.map((entry) => entry.user_id)).toEqual([stranger.user_id])
})
