// The login of this tab: an access token in memory, which the server renews for all tabs, and what happens when it has ended.
// Nothing of it is ever in the browser's storage.

export type Session = { access_token: string; expires_at: string; user: { id: string; email: string; name: string } }

const renew_before_ms = 60_000
/** How long the first answers may take: as long as any other, see contract/client.ts. */
export const answer_ms_max = 60_000
const listeners = new Set<(has_ended: boolean) => void>()

let session: Session | undefined
/** Of the user whose things are on screen. */
let user_id: string | undefined
let asking: Promise<Session | undefined> | undefined

/** Undefined: there is no login. */
export function getSession(): Promise<Session | undefined> {
  const left_ms = session === undefined ? 0 : Date.parse(session.expires_at) - Date.now()
  return left_ms > renew_before_ms ? Promise.resolve(session) : askForSession()
}

/** Of all calls at once one asks. */
function askForSession(): Promise<Session | undefined> {
  asking ??= ask().finally(() => {
    asking = undefined
  })
  return asking
}

async function ask(): Promise<Session | undefined> {
  const response = await fetch('/console/session', {
    method: 'POST',
    headers: { 'x-howdah-console': '1' },
    signal: AbortSignal.timeout(answer_ms_max),
  })
  if (response.status !== 401 && !response.ok) throw new TypeError(`the server answered ${response.status}`)
  session = response.ok ? ((await response.json()) as Session) : undefined // our own server's answer
  if (session === undefined) return undefined
  user_id ??= session.user.id
  if (user_id !== session.user.id) return await leaveToOther()
  tell(false)
  return session
}

/** Another user has logged in elsewhere in this browser: what is on screen is not theirs, and nothing of it is done in their name. */
function leaveToOther(): Promise<never> {
  location.reload()
  return new Promise<never>(() => undefined)
}

/** fetch with the token of this login. A token that is refused is renewed once. */
export async function sessionFetch(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const send = (token: string) =>
    fetch(input, { ...init, headers: { ...headersOf(init), authorization: `Bearer ${token}` } })
  const known = await getSession()
  if (known === undefined) return ended()
  const response = await send(known.access_token)
  if (response.status !== 401) return response
  const renewed = await askForSession()
  return renewed === undefined ? ended() : send(renewed.access_token)
}

/** Told when a request finds that the login has ended, and when there is one again. Returns how to stop listening. */
export function onLogin(listener: (has_ended: boolean) => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function tell(has_ended: boolean): void {
  for (const listener of listeners) listener(has_ended)
}

export function loginPath(): string {
  return `/console/login?return=${encodeURIComponent(location.pathname + location.search)}`
}

export async function logout(): Promise<void> {
  const response = await fetch('/console/session', { method: 'DELETE', headers: { 'x-howdah-console': '1' } })
  const { location: next } = (await response.json()) as { location: string } // our own server's answer
  location.assign(next)
}

export function currentUser(): Session['user'] | undefined {
  return session?.user
}

function headersOf(init: RequestInit): Record<string, string> {
  return Object.fromEntries(new Headers(init.headers))
}

function ended(): Response {
  tell(true)
  return Response.json({ code: 'UNAUTHORIZED', message: 'your login has ended' }, { status: 401 })
}
