// The pages that set a password refuse what strangers try first: the common ones, and the user's own e-mail.
import { startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { beforeAll, expect, test } from 'vitest'
import { newBrowser } from '#test/oauth/browser.ts'
import { logIn, openPeople } from '#test/oauth/people.ts'

const installation = shared(startInstallation)
const people = shared(() => openPeople(installation))
let origin: string

beforeAll(() => {
  origin = installation.server.public_url
})

const weakFor = (email: string) => [
  'passwordpassword',
  'Passw0rd1234!',
  'qwertyuiop12',
  'iloveyou2024',
  '12345678901234567890',
  email,
  email.toUpperCase(),
  `${email.split('@')[0]}1`,
]

test('the link that sets a password takes none of them, and stays good for a better one', async () => {
  const person = await people.newPerson()
  const browser = newBrowser()
  const form = await browser.get(await people.newLink(person.user_id))
  for (const new_password of weakFor(person.email)) {
    const page = await browser.submit(form, { new_password })
    expect([new_password, page.status]).toEqual([new_password, 400])
    expect(page.text).toContain('among the first that strangers try')
  }
  expect((await logIn(origin, person)).access_token).toBeTruthy()
  expect((await browser.submit(form, { new_password: 'purple teapot sings' })).status).toBe(200)
  expect((await logIn(origin, { ...person, password: 'purple teapot sings' })).access_token).toBeTruthy()
})

test('the page that changes a password takes none of them', async () => {
  const person = await people.newPerson()
  const { email, password } = person
  const browser = newBrowser()
  const form = await browser.get(`${origin}/oauth/password`)
  for (const new_password of weakFor(email)) {
    const page = await browser.submit(form, { email, password, new_password })
    expect([new_password, page.status]).toEqual([new_password, 400])
    expect(page.text).toContain('among the first that strangers try')
  }
  expect((await logIn(origin, person)).access_token).toBeTruthy()
})
