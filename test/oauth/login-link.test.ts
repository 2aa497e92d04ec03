// The way in and the way out over the API: an invited member gets in without a shell on the server, and no administrator gets in as another
// member; a person sees where they are logged in, and ends it.
import { beforeAll, expect, test } from 'vitest'
import type { Login } from '#contract/auth.ts'
import type { FaultBody } from '#contract/fault.ts'
import type { Member } from '#contract/member.ts'
import { newId } from '#server/id.ts'
import { insertMember } from '#server/member/store.ts'
import { insertProject } from '#server/project/store.ts'
import { newCall } from '#test/call.ts'
import { startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { newBrowser } from './browser.ts'
import { logIn, openPeople, type Person, refresh } from './people.ts'

type Link = { url: string; expires_at: string } & FaultBody

const howdah = shared(startInstallation)
const people = shared(() => openPeople(howdah))
let members = ''
let origin = ''
beforeAll(async () => {
  origin = howdah.server.public_url
  members = `/projects/${howdah.project_id}/members`
})

const invite = async (role = 'developer') => {
  const email = `${newId()}@example.com`
  return (await howdah.call<Member>('POST', members, { email, role })).body
}
const info = async (access_token: string) =>
  (await newCall(howdah.server.api_url, access_token)('GET', '/auth/info')).status
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

/** A project of its own, with what its owner calls it by. */
const newProject = async (owner: Person) => {
  const call = newCall(howdah.server.api_url, (await logIn(origin, owner)).access_token)
  const { body } = await call<{ id: string }>('POST', '/projects', { name: 'another' })
  const add = (email: string) =>
    call<Member & FaultBody>('POST', `/projects/${body.id}/members`, { email, role: 'admin' })
  return { call, add, project_id: body.id }
}

const choose = async (url: string, new_password: string) => {
  const browser = newBrowser()
  return (await browser.submit(await browser.get(url), { new_password })).status
}

test('a link that was made ends when another project adds the user, when they log in, and when they leave', async () => {
  const { add } = await newProject(await people.newPerson())
  const added = await invite()
  const { url } = (await linkOf(added.user_id)).body
  const browser = newBrowser()
  const form = await browser.get(url)
  expect((await add(added.email)).status).toBe(201)
  expect((await browser.submit(form, { new_password: 'a long enough secret' })).status).toBe(404)
  expect((await browser.get(url)).status).toBe(404)

  const joined = await invite()
  expect(await choose((await linkOf(joined.user_id)).body.url, 'a long enough secret')).toBe(200)
  const second = (await linkOf(joined.user_id)).body.url
  await logIn(origin, { ...joined, password: 'a long enough secret' })
  expect((await browser.get(second)).status).toBe(404)

  const removed = await invite()
  const third = (await linkOf(removed.user_id)).body.url
  expect((await howdah.call('DELETE', `${members}/${removed.user_id}`)).status).toBe(204)
  expect((await browser.get(third)).status).toBe(404)
})

test('who joined by a project’s link is added to no other before the operator vouches for the e-mail', async () => {
  const [stranger, admin] = [await people.newPerson(), await people.newPerson('admin')]
  const { add } = await newProject(stranger)
  const { user_id, email } = await invite()
  expect(await choose((await linkOf(user_id)).body.url, 'a long enough secret')).toBe(200)
  const refused = await add(email)
  expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
  expect(refused.body.message).toContain('another project')
  // Who administers both projects is trusted by both.
  expect((await (await newProject(admin)).add(email)).status).toBe(201)
  expect((await add(email)).status).toBe(409)
  expect(await choose(await people.newLink(user_id), 'another long secret')).toBe(200)
  expect((await add(email)).status).toBe(201)
})

test('a person sees where they are logged in, and ends a login of theirs elsewhere, and no other', async () => {
  const own = await people.newPerson()
  const here = await logIn(origin, own)
  const there = await logIn(origin, own, { client_id: 'howdah-cli' })
  const call = newCall(howdah.server.api_url, here.access_token)
  const listed = await call<Login[]>('GET', '/logins')
  expect(listed.status).toBe(200)
  const known = listed.body.map(({ client_id, client_name, is_current }) => ({ client_id, client_name, is_current }))
  expect(known).toHaveLength(2)
  expect(known).toContainEqual({ client_id: 'howdah-console', client_name: 'Howdah console', is_current: true })
  expect(known).toContainEqual({ client_id: 'howdah-cli', client_name: 'Howdah command line', is_current: false })
  for (const { created, last_used_at } of listed.body) {
    expect(Date.parse(last_used_at)).toBeGreaterThanOrEqual(Date.parse(created))
  }
  const id = listed.body.find(({ is_current }) => !is_current)?.id
  const { access_token: stranger } = await logIn(origin, await people.newPerson())
  const refused = await newCall(howdah.server.api_url, stranger)('DELETE', `/logins/${id}`)
  expect([refused.status, refused.body.message]).toEqual([404, 'no login of yours has that id'])
  expect((await newCall(howdah.server.api_url, howdah.token)('GET', '/logins')).status).toBe(403)
  expect(await info(there.access_token)).toBe(200)
  expect((await call('DELETE', `/logins/${id}`)).status).toBe(204)
  expect(await info(there.access_token)).toBe(401)
  expect((await refresh(origin, there.refresh_token, 'howdah-cli')).body.error).toBe('invalid_grant')
  expect((await call<Login[]>('GET', '/logins')).body).toMatchObject([{ is_current: true }])
})

test('a login that is not used any more is none', async () => {
  const own = await people.newPerson()
  const { access_token } = await logIn(origin, own)
  const call = newCall(howdah.server.api_url, access_token)
  await people.db.query(
    `update oauth_records set payload = jsonb_set(payload::jsonb, '{iat}', '1000')::json where model = 'Grant' and user_id = $1`,
    [own.user_id],
  )
  expect((await call<Login[]>('GET', '/logins')).body).toHaveLength(1)
  await people.db.query(`update oauth_records set expires_at = now() where model = 'RefreshToken' and user_id = $1`, [
    own.user_id,
  ])
  expect((await call<Login[]>('GET', '/logins')).body).toEqual([])
})
