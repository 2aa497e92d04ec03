// The two cookies of the console, as text. Pure.
// The session's cookie is 256 random bits; what the store has of it is a hash, and what it opens is sealed with a key that
// follows from it.
import { hash, hkdfSync } from 'node:crypto'
import { cookieOf, cookieValues } from '../oauth/cookie.ts'
import { random_text_form } from '../random-text.ts'

export type LoginUnderWay = { state: string; code_verifier: string; return_path: string }

const key_bytes = 32
const login_seconds = 10 * 60
/** As long as a login in use can last. */
const session_seconds = 90 * 24 * 60 * 60
const path = '/console'
const return_characters_max = 1_500

const sessionName = (origin: string) => (origin.startsWith('https:') ? '__Secure-howdah_console' : 'howdah_console')
const loginName = 'howdah_console_login'

export const hashOf = (value: string) => hash('sha256', value, 'base64url')
export const keyOf = (value: string) => Buffer.from(hkdfSync('sha256', value, '', 'howdah console session', key_bytes))

export function sessionCookie(origin: string, value: string): string {
  const seconds = value === '' ? 0 : session_seconds
  return cookieOf(sessionName(origin), value, { path, origin, same_site: 'Strict', seconds })
}

export function loginCookie(origin: string, login: LoginUnderWay | undefined): string {
  const value = login === undefined ? '' : Buffer.from(JSON.stringify(login)).toString('base64url')
  return cookieOf(loginName, value, { path, origin, seconds: login === undefined ? 0 : login_seconds })
}

/** Undefined where the browser sends none that we could have made. */
export function sessionValueIn(header: string | undefined, origin: string): string | undefined {
  return cookieValues(header, sessionName(origin)).find((value) => random_text_form.test(value))
}

export function loginIn(header: string | undefined): LoginUnderWay | undefined {
  const [value] = cookieValues(header, loginName)
  try {
    const login: unknown = JSON.parse(Buffer.from(value ?? '', 'base64url').toString())
    return isLogin(login) ? login : undefined
  } catch {
    return undefined
  }
}

/** A path of this site, or its root. */
export function returnPathOf(wanted: string | undefined, origin: string): string {
  if (wanted === undefined || !wanted.startsWith('/') || wanted.length > return_characters_max) return '/'
  const url = URL.canParse(wanted, origin) ? new URL(wanted, origin) : undefined
  return url?.origin === new URL(origin).origin ? url.pathname.replace(/^\/+/, '/') + url.search + url.hash : '/'
}

function isLogin(value: unknown): value is LoginUnderWay {
  if (typeof value !== 'object' || value === null) return false
  const { state, code_verifier, return_path } = value as Record<string, unknown> // any members
  return typeof state === 'string' && typeof code_verifier === 'string' && typeof return_path === 'string'
}
