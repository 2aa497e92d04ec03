// The command line as an OAuth client of a Howdah server: what the server says about itself, the tokens that it gives,
// and its refusals as sentences. The library is loaded when it is needed: commands that ask for no tokens start faster.
import type { Configuration, TokenEndpointResponse } from 'openid-client'
import { silenceOf } from '#contract/retry.ts'
import { messageOf } from '../visible.ts'
import { CommandError } from '../command.ts'

export const scope = 'api'

export type Tokens = {
  access_token: string
  refresh_token: string
  expires_at: string
}

const client_id = 'howdah-cli'
const timeout_seconds = 30

/** server: the address that its user named. */
export async function findIssuer(server: string): Promise<Configuration> {
  const { allowInsecureRequests, discovery, None } = await import('openid-client')
  const address = `${server.replace(/\/+$/, '')}/oauth/.well-known/openid-configuration`
  // Nothing goes over plain HTTP unless the named address does.
  const execute = address.startsWith('http:') ? [allowInsecureRequests] : []
  try {
    return await discovery(new URL(address), client_id, undefined, None(), { timeout: timeout_seconds, execute })
  } catch (error) {
    const answer = answerIn(error)?.status ?? 'no description of one'
    const message = isSilence(error)
      ? `${silenceOf(server, error)} --server names another one`
      : `${server} is no Howdah server: ${address} answers ${answer}`
    throw new CommandError(message, { cause: error })
  }
}

export async function tokensFrom(answer: Promise<TokenEndpointResponse>): Promise<Tokens> {
  const { access_token, refresh_token, expires_in } = await saying(answer)
  if (refresh_token === undefined || expires_in === undefined) {
    throw new CommandError('the server answered without tokens')
  }
  return { access_token, refresh_token, expires_at: new Date(Date.now() + expires_in * 1000).toISOString() }
}

/** Undefined when the login that the token belongs to has ended. */
export async function refreshTokens(server: string, refresh_token: string): Promise<Tokens | undefined> {
  const { refreshTokenGrant, ResponseBodyError } = await import('openid-client')
  try {
    return await tokensFrom(refreshTokenGrant(await findIssuer(server), refresh_token))
  } catch (error) {
    const cause = error instanceof CommandError ? error.cause : undefined
    if (cause instanceof ResponseBodyError && cause.error === 'invalid_grant') return undefined
    throw error
  }
}

/** What goes wrong with a request, as a sentence for its user. */
export function saying<T>(request: Promise<T>): Promise<T> {
  return request.catch(async (error: unknown) => {
    const { AuthorizationResponseError, ResponseBodyError } = await import('openid-client')
    if (isSilence(error)) throw new CommandError('the server does not answer; try again', { cause: error })
    if (error instanceof AuthorizationResponseError) throw new CommandError(`the login was refused (${error.error})`)
    const refused = (reason: string) => new CommandError(`the server refused the login: ${reason}`, { cause: error })
    if (error instanceof ResponseBodyError) throw refused(error.error_description ?? error.error)
    const answer = answerIn(error)
    if (answer === undefined) throw refused(messageOf(error))
    // One of the API's own faults, such as too many requests.
    const fault: unknown = await answer.json().catch(() => undefined)
    const has_message = typeof fault === 'object' && fault !== null && 'message' in fault
    throw refused(String(has_message ? fault.message : answer.status))
  })
}

/** fetch throws a TypeError where no server answers; the library has a code for a late answer. */
function isSilence(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof Error && 'code' in error && error.code === 'OAUTH_TIMEOUT')
}

/** The answer that the library did not expect, if that is what is wrong. */
function answerIn(error: unknown): Response | undefined {
  return error instanceof Error && error.cause instanceof Response ? error.cause : undefined
}
