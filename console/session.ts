// The login of this tab: an access token in memory, which the server renews for all tabs, and what happens when it has ended.
// Nothing of it is ever in the browser's storage.

export type Session = { access_token: string; expires_at: string; user: { id: string; email: string; name: string } }

const renew_before_ms = 60_000
/** How long the first answers may take: as long as any other, see contract/client.ts. */
export const answer_ms_max = 60_000
const ended_listeners = new Set<() => void>()

let session: Session | undefined
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
  return session
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

/** Told when a request finds that the login has ended. Returns how to stop listening. */
export function onLoginEnded(listener: () => void): () => void {
  ended_listeners.add(listener)
  return () => ended_listeners.delete(listener)
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
  for (const listener of ended_listeners) listener()
  return Response.json({ code: 'UNAUTHORIZED', message: 'your login has ended' }, { status: 401 })
}
