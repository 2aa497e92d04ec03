// What a program sends as its own text, such as a nonce, keeps no user from seeing and ending a login.
import { startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { beforeAll, expect, test } from 'vitest'
import { newCall } from '#test/call.ts'
import { newBrowser } from './browser.ts'
import { askAs, logIn, openPeople } from './people.ts'

const howdah = shared(startInstallation)
const people = shared(() => openPeople(howdah))
let origin: string

beforeAll(() => {
  origin = howdah.server.public_url
})

test.each(['nonce', 'state'])('a login with NUL in its %s is refused when it begins', async (name) => {
  const asked = askAs('howdah-cli', origin, { [name]: 'a\0b' })
  const back = await newBrowser().get(asked.url)
  const query = new URL(back.location ?? origin).searchParams
  expect([back.status, query.get('error'), query.get('error_description')]).toEqual([
    303,
    'invalid_request',
    'a parameter is not well-formed Unicode without NUL',
  ])
})

test('a link to the logout page with NUL in its state does not keep the user logged in', async () => {
  const person = await people.newPerson()
  const browser = newBrowser()
  const { access_token } = await logIn(origin, person, { browser })
  const page = await browser.get(`${origin}/oauth/session/end?state=a%00b`)
  expect(page.status).toBe(400)
  const call = newCall(howdah.server.api_url, access_token)
  expect((await call('GET', '/logins')).body).toMatchObject([{ client_id: 'howdah-console', is_current: true }])
  expect((await call('POST', '/auth/logout')).status).toBe(204)
  const again = await browser.follow(await browser.get(askAs('howdah-console', origin).url))
  expect(again.text).toContain('name="password"')
})

test('a backslash that is written out is text', async () => {
  const state = String.raw`\u0000 \\u0000 \ud800`
  const page = await newBrowser().get(askAs('howdah-cli', origin, { state }).url)
  expect(page.location).toMatch(/\/oauth\/login\//)
})
