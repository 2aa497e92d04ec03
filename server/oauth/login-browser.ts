// Which browser a login under way belongs to. The authorization server's own cookies name the login; they can be planted
// into another browser, so they prove nothing. Promises:
// 1. The browser that begins a login gets a random key, and every later step of the login must bring it.
// 2. A browser that proves its user gets a new key in exchange for that one: a browser that knows the older key, because
//    it began the login or planted it, cannot go on with what another one has proven. Of two at once, one wins.
// 3. The store has the hash of a key only.
import { hash } from 'node:crypto'
import { newRandomText } from '../random-text.ts'
import type { Sql } from '../store/db.ts'
import { cookieOf, cookieValues } from './cookie.ts'
import { findRecord, saveRecord, swapPayload } from './records.ts'

/** A login as the authorization server describes it. */
export type LoginUnderWay = { uid: string; returnTo: string; exp?: number | undefined }

/** Names the login that goes on. */
export const resume_cookie = 'howdah_resume'
/** Where the pages of a login are. */
export const loginPathOf = (uid: string) => `/oauth/login/${uid}`

const browser_cookie = 'howdah_browser'
const browser_model = 'LoginBrowser'

/** The cookies that bind the login to the browser which gets them. */
export async function bindLogin(sql: Sql, login: LoginUnderWay, origin: string): Promise<string[]> {
  const key = newRandomText()
  await saveRecord(sql, {
    model: browser_model,
    id: hashOf(login.uid),
    payload: payloadOf(key),
    expires_at: new Date((login.exp ?? 0) * 1000),
  })
  return cookiesOf(login, key, origin)
}

/** The same login with a new key; undefined where the browser does not send the current one. */
export async function rebindLogin(
  sql: Sql,
  login: LoginUnderWay,
  cookies: string | undefined,
  origin: string,
): Promise<string[] | undefined> {
  const known = await findKey(sql, login.uid, cookies)
  if (known === undefined) return undefined
  const key = newRandomText()
  const is_first = await swapPayload(sql, browser_model, hashOf(login.uid), payloadOf(known), payloadOf(key))
  return is_first ? cookiesOf(login, key, origin) : undefined
}

export async function isBound(sql: Sql, uid: string, cookies: string | undefined): Promise<boolean> {
  return (await findKey(sql, uid, cookies)) !== undefined
}

/** The Cookie header without a login that is not this browser's: the authorization server goes on with any that it gets. */
export async function withOwnLogin(sql: Sql, cookies: string): Promise<string> {
  const [uid] = cookieValues(cookies, resume_cookie)
  if (uid === undefined || (await isBound(sql, uid, cookies))) return cookies
  const others = cookies.split(';').filter((pair) => cookieValues(pair, resume_cookie).length === 0)
  return others.join(';')
}

async function findKey(sql: Sql, uid: string, cookies: string | undefined): Promise<string | undefined> {
  const record = await findRecord(sql, browser_model, 'id', hashOf(uid))
  return cookieValues(cookies, browser_cookie).find((key) => hashOf(key) === record?.payload['key_hash'])
}

/** One for the pages of the login, one for where it goes on: no other login ever sees them. */
function cookiesOf({ uid, returnTo, exp = 0 }: LoginUnderWay, key: string, origin: string): string[] {
  const seconds = Math.max(0, Math.round(exp - Date.now() / 1000))
  const paths = [loginPathOf(uid), new URL(returnTo).pathname]
  return paths.map((path) => cookieOf(browser_cookie, key, { path, origin, seconds }))
}

const hashOf = (text: string) => hash('sha256', text, 'base64url')
const payloadOf = (key: string) => ({ key_hash: hashOf(key) })
