// Programs that register themselves, for tests: what each says of itself, and where it sends its user to log in.
import { createHash, randomBytes } from 'node:crypto'

export type Registered = {
  client_id: string
  token_endpoint_auth_method: string
  error?: string
  error_description?: string
}

export async function register(origin: string, said: object): Promise<{ status: number; body: Registered }> {
  const found = await (await fetch(`${origin}/.well-known/oauth-authorization-server/oauth`)).json()
  const headers = { 'content-type': 'application/json' }
  const { registration_endpoint } = found as { registration_endpoint: string }
  const answer = await fetch(registration_endpoint, { method: 'POST', headers, body: JSON.stringify(said) })
  return { status: answer.status, body: (await answer.json()) as Registered }
}

/** One with a name that comes back to this address. */
export async function newProgram(origin: string, redirect_uri: string): Promise<Registered> {
  const grant_types = ['authorization_code', 'refresh_token']
  const said = { client_name: 'Inspector', redirect_uris: [redirect_uri], grant_types }
  return (await register(origin, { ...said, token_endpoint_auth_method: 'none' })).body
}

/** What it opens in the browser. */
export function askFor(origin: string, client_id: string, { scope, redirect_uri }: Wish) {
  const [code_verifier, state] = [randomBytes(32).toString('base64url'), randomBytes(8).toString('hex')]
  const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
  const challenge = { code_challenge, code_challenge_method: 'S256' }
  const asked = { client_id, response_type: 'code', redirect_uri, scope, state, resource: `${origin}/mcp` }
  const url = `${origin}/oauth/auth?${new URLSearchParams({ ...asked, ...challenge })}`
  return { url, redirect_uri, code_verifier, state }
}

type Wish = { scope: string; redirect_uri: string }
