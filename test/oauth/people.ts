// People who log in, for tests: accounts with passwords in an installation's store, and the whole way of a program that
// sends its user to log in and gets tokens for it.
import { createHash, randomBytes } from 'node:crypto'
import type { Role } from '#contract/endpoint.ts'
import type { Db } from '#server/store/db.ts'
import { newId } from '#server/id.ts'
import { insertUser } from '#server/identity/store.ts'
import { openInstallation } from '#server/installation.ts'
import { newLog } from '#server/log.ts'
import { insertMember } from '#server/member/store.ts'
import { createPasswordLink } from '#server/oauth/accounts.ts'
import { openStore } from '#server/store/access.ts'
import { newCall } from '#test/call.ts'
import type { TestInstallation } from '#test/installation.ts'
import { type Browser, newBrowser, type Page } from './browser.ts'

export type Person = { user_id: string; email: string; password: string }

export type People = {
  db: Db
  /** A member of the first project who has set a password by a link. */
  newPerson(role?: Role): Promise<Person>
  newLink(user_id: string): Promise<string>
  close(): Promise<void>
}

export async function openPeople({ config, project_id, server }: TestInstallation): Promise<People> {
  const store = await openStore(config, await openInstallation(config.data_dir), newLog('silent'))
  const { db } = store
  const newLink = async (user_id: string) =>
    server.public_url + (await db.transaction((tx) => createPasswordLink(tx, Number(user_id))))
  return {
    db,
    newLink,
    close: () => store.close(),
    newPerson: async (role = 'developer') => {
      const email = `${newId()}@example.com`
      const { id } = await insertUser(db, { email, name: 'A Person' })
      await insertMember(db, { project_id, user_id: id, role })
      const password = `correct ${newId()}`
      const browser = newBrowser()
      const page = await browser.submit(await browser.get(await newLink(String(id))), { new_password: password })
      if (page.status !== 200) throw new Error(`setting a password answered ${page.status}: ${page.text}`)
      return { user_id: String(id), email, password }
    },
  }
}

/** What the API says to the holder of the token: 401 once it is worth nothing. */
export async function statusFor({ server }: TestInstallation, access_token: string): Promise<number> {
  return (await newCall(server.api_url, access_token)('GET', '/auth/info')).status
}

export type Asked = { url: string; redirect_uri: string; code_verifier: string; state: string }

export const cli_redirect = 'http://127.0.0.1:45678/callback'

/** What a program opens in the browser. more: parameters to change, or to leave out with ''. */
export function askAs(
  client_id: 'howdah-cli' | 'howdah-console',
  origin: string,
  more: Readonly<Record<string, string>> = {},
): Asked {
  const redirect_uri =
    more['redirect_uri'] ?? (client_id === 'howdah-cli' ? cli_redirect : `${origin}/console/callback`)
  const code_verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(16).toString('base64url')
  const query = {
    client_id,
    redirect_uri,
    response_type: 'code',
    scope: 'openid email profile api',
    state,
    code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...more,
  }
  const given = Object.entries(query).filter(([, value]) => value !== '')
  return { url: `${origin}/oauth/auth?${new URLSearchParams(given)}`, redirect_uri, code_verifier, state }
}

export type Tokens = {
  access_token: string
  refresh_token: string
  id_token?: string
  expires_in: number
  error?: string
  error_description?: string
}

/** Logs in with a browser (a new one if none is given) and trades the code in. */
export async function logIn(
  origin: string,
  person: Person,
  {
    client_id = 'howdah-console',
    browser = newBrowser(),
  }: { client_id?: 'howdah-cli' | 'howdah-console'; browser?: Browser } = {},
): Promise<Tokens> {
  const asked = askAs(client_id, origin)
  const form = await browser.follow(await browser.get(asked.url))
  const back = await browser.submit(form, { email: person.email, password: person.password })
  return tokensFor(origin, client_id, asked, codeFrom(back, asked))
}

/** The code that the browser was sent back with. */
export function codeFrom(page: Page, asked: Asked): string {
  const at = new URL(page.location ?? 'missing:')
  if (at.href.split('?')[0] !== asked.redirect_uri || at.searchParams.get('state') !== asked.state) {
    throw new Error(`not sent back (${page.status}): ${page.location ?? page.text.slice(-800)}`)
  }
  return at.searchParams.get('code') ?? ''
}

export async function tokensFor(origin: string, client_id: string, asked: Asked, code: string): Promise<Tokens> {
  const { redirect_uri, code_verifier } = asked
  const { body } = await postToken(origin, {
    grant_type: 'authorization_code',
    client_id,
    code,
    redirect_uri,
    code_verifier,
  })
  return body
}

export async function refresh(origin: string, refresh_token: string, client_id = 'howdah-console') {
  return postToken(origin, { grant_type: 'refresh_token', client_id, refresh_token })
}

export async function postToken(origin: string, fields: Readonly<Record<string, string>>, path = 'token') {
  const response = await fetch(`${origin}/oauth/${path}`, { method: 'POST', body: new URLSearchParams(fields) })
  const text = await response.text()
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Tokens } // by RFC 6749
}
