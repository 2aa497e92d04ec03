// The command line as an OAuth client of a Howdah server: what the server says about itself, and its token endpoint.
import { CommandError } from './command.ts'

export const client_id = 'howdah-cli'
export const scope = 'api'

export type Tokens = {
  access_token: string
  refresh_token: string
  expires_at: string
}

export type Issuer = {
  issuer: string
  authorization_endpoint: string
  token_endpoint: string
  device_authorization_endpoint: string
}

/** An answer of the token endpoint that is no success: its code by RFC 6749 or 8628. */
export class TokenError extends CommandError {
  readonly code: string

  constructor(code: string, description: string | undefined) {
    super(`the server refused the login: ${description ?? code}`)
    this.code = code
  }
}

const timeout_ms = 30_000

export async function findIssuer(server: string): Promise<Issuer> {
  const url = `${server.replace(/\/+$/, '')}/oauth/.well-known/openid-configuration`
  const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(timeout_ms) }).catch(
    (error: unknown) => {
      throw new CommandError(`${server} does not answer; is the server running? --server names another one`, {
        cause: error,
      })
    },
  )
  if (!answer.ok) throw new CommandError(`${server} is no Howdah server: ${url} answers ${answer.status}`)
  return (await answer.json()) as Issuer // the document of RFC 8414, from the server that its user named
}

export async function post(url: string, fields: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
  const body = new URLSearchParams({ client_id, ...fields })
  const answer = await fetch(url, { method: 'POST', body, redirect: 'error', signal: AbortSignal.timeout(timeout_ms) })
  const value = (await answer.json().catch(() => ({}))) as Record<string, unknown> // members are checked by their users
  if (answer.ok) return value
  const { error, error_description: description, message } = value
  const said = [description, message].find((text) => typeof text === 'string')
  throw new TokenError(typeof error === 'string' ? error : String(answer.status), said)
}

export async function askForTokens(token_endpoint: string, fields: Readonly<Record<string, string>>): Promise<Tokens> {
  const { access_token, refresh_token, expires_in } = await post(token_endpoint, fields)
  if (typeof access_token !== 'string' || typeof refresh_token !== 'string' || typeof expires_in !== 'number') {
    throw new CommandError('the server answered without tokens')
  }
  return { access_token, refresh_token, expires_at: new Date(Date.now() + expires_in * 1000).toISOString() }
}

/** Undefined when the login that the token belongs to has ended. */
export async function refreshTokens(token_endpoint: string, refresh_token: string): Promise<Tokens | undefined> {
  try {
    return await askForTokens(token_endpoint, { grant_type: 'refresh_token', refresh_token })
  } catch (error) {
    if (error instanceof TokenError && error.code === 'invalid_grant') return undefined
    throw error
  }
}
