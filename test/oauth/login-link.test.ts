// A member who was invited through the API gets in without a shell on the server, and no administrator gets in as another member.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FaultBody } from '#contract/fault.ts'
import type { Member } from '#contract/member.ts'
import { newId } from '#server/id.ts'
import { insertMember } from '#server/member/store.ts'
import { insertProject } from '#server/project/store.ts'
import { startInstallation, type TestInstallation } from '#test/installation.ts'
import { newBrowser } from './browser.ts'
import { openPeople, type People } from './people.ts'

type Link = { url: string; expires_at: string } & FaultBody

let howdah: TestInstallation
let people: People
let members = ''
beforeAll(async () => {
  howdah = await startInstallation()
  people = await openPeople(howdah)
  members = `/projects/${howdah.project_id}/members`
})
afterAll(async () => {
  await people.close()
  await howdah.stop()
})

const invite = async (role = 'developer') => {
  const email = `${newId()}@example.com`
  return (await howdah.call<Member>('POST', members, { email, role })).body
}
const linkOf = (user_id: string) => howdah.call<Link>('POST', `${members}/${user_id}/createLoginLink`)

test('an invited member chooses a password by the link and logs in with it, once', async () => {
  const { user_id, email } = await invite()
  const made = await linkOf(user_id)
  expect([made.status, Date.parse(made.body.expires_at) > Date.now()]).toEqual([201, true])
  const browser = newBrowser()
  const set = await browser.submit(await browser.get(made.body.url), { new_password: 'a long enough secret' })
  expect(set.status).toBe(200)
  const page = await browser.follow(await browser.get(`${howdah.server.public_url}/console/login`))
  const back = await browser.submit(page, { email, password: 'a long enough secret' })
  expect(back.location).toContain('/console/callback?code=')
  const again = await linkOf(user_id)
  expect([again.status, again.body.code]).toEqual([409, 'CONFLICT'])
})

test('a newer link ends the older one', async () => {
  const { user_id } = await invite()
  const [older, newer] = [await linkOf(user_id), await linkOf(user_id)]
  const browser = newBrowser()
  expect((await browser.get(older.body.url)).text).not.toContain('name="new_password"')
  expect((await browser.get(newer.body.url)).text).toContain('name="new_password"')
})

test('no link is made for a user of another project, for a stranger, or for a member who has logged in', async () => {
  const invited = await invite('viewer')
  const other = await insertProject(people.db, { id: newId(), name: 'other' })
  await insertMember(people.db, { project_id: other.id, user_id: Number(invited.user_id), role: 'owner' })
  expect((await linkOf(invited.user_id)).body.code).toBe('CONFLICT')
  expect((await linkOf('999999')).body.code).toBe('NOT_FOUND')
  const [first] = (await howdah.call<Member[]>('GET', members)).body
  expect((await linkOf(first?.user_id ?? '')).body.code).toBe('CONFLICT')
})
