// An outside OpenID Connect issuer, as its client: where to send people, and who they are when they come back.
// 1. The issuer's description of itself is believed for an hour. Nothing goes over plain HTTP unless the issuer's own
//    address does.
// 2. An identity comes from a signed ID token for us, with our nonce; the user-info endpoint may only add to it.
// 3. Every request is bounded in time and size, and follows no redirect. The secret goes to the token endpoint only.
import type { ClientAuth, Configuration, CustomFetch, UserInfoResponse } from 'openid-client'
import { messageOf } from '#providers/host/message.ts'

type IssuerSettings = { issuer: string; client_id: string; client_secret: string | undefined }

/** One way there and back. */
export type Journey = { redirect_uri: string; nonce: string; code_verifier: string }

export type Claims = {
  subject: string
  email: string
  email_verified: boolean
  name: string
  groups: readonly string[]
}

type ExternalIssuer = {
  authorizationUrl(journey: Journey & { state: string }): Promise<string>
  /**
   * answer: the query with which the issuer sent the browser back, with a state that the caller has checked.
   * Throws an IssuerError for anything that is not right.
   */
  claimsOf(journey: Journey, answer: URLSearchParams): Promise<Claims>
}

/** The issuer cannot be used, or its answer cannot be believed; the message is for the server's operator. */
export class IssuerError extends Error {
  override readonly name = 'IssuerError'
}

const clock_skew_seconds = 60
const timeout_seconds = 10
const answer_bytes_max = 1_000_000
const metadata_trust_ms = 60 * 60 * 1000
const groups_max = 1000

// Loaded when the first login begins.
const load = () => import('openid-client')

export function newExternalIssuer(settings: IssuerSettings): ExternalIssuer {
  let known: { issuer: Configuration; until: number } | undefined
  const learn = async (): Promise<Configuration> => {
    if (known === undefined || known.until < performance.now()) {
      known = { issuer: await discover(settings), until: performance.now() + metadata_trust_ms }
    }
    return known.issuer
  }
  return {
    authorizationUrl: ({ code_verifier, redirect_uri, nonce, state }) =>
      believing(async () => {
        const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await load()
        const issuer = await learn()
        const has_groups = issuer.serverMetadata().scopes_supported?.includes('groups') === true
        return buildAuthorizationUrl(issuer, {
          redirect_uri,
          scope: has_groups ? 'openid email profile groups' : 'openid email profile',
          state,
          nonce,
          code_challenge: await calculatePKCECodeChallenge(code_verifier),
          code_challenge_method: 'S256',
        }).href
      }),
    claimsOf: ({ redirect_uri, nonce, code_verifier }, answer) =>
      believing(async () => {
        const openid = await load()
        const issuer = await learn()
        const tokens = await openid.authorizationCodeGrant(issuer, new URL(`${redirect_uri}?${answer}`), {
          expectedNonce: nonce,
          expectedState: openid.skipStateCheck,
          pkceCodeVerifier: code_verifier,
        })
        const claims = tokens.claims()
        if (claims === undefined) throw new IssuerError('it gave no ID token')
        // The library looks at this claim only where there are several audiences.
        if ((claims.azp ?? settings.client_id) !== settings.client_id) {
          throw new IssuerError('its ID token is meant for another client')
        }
        return readClaims(await withUserInfo(issuer, claims, tokens.access_token))
      }),
  }
}

async function discover({ issuer, client_id, client_secret }: IssuerSettings): Promise<Configuration> {
  const openid = await load()
  // By the whole address, because the library takes some issuers at their word when they call themselves another name.
  const address = new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
  const client = { [openid.clockTolerance]: clock_skew_seconds }
  const auth = client_secret === undefined ? openid.None() : secretAuth(client_secret, openid.ClientSecretPost)
  const plain = address.protocol === 'http:' ? [openid.allowInsecureRequests] : []
  const configuration = await openid.discovery(address, client_id, client, auth, {
    timeout: timeout_seconds,
    [openid.customFetch]: fetchBounded,
    // Its signature counts even though the ID token comes from the issuer directly.
    execute: [...plain, openid.enableNonRepudiationChecks],
  })
  const name = configuration.serverMetadata().issuer
  if (name === issuer) return configuration
  throw new IssuerError(`it calls itself ${JSON.stringify(name)}; set --oidc-issuer to exactly that`)
}

/**
 * In the header where the issuer knows that, as the protocol wants it. The library's own function escapes `-`, `.` and
 * `_`, too: the same to an issuer that decodes, but some do not, and their secrets have these characters.
 */
function secretAuth(secret: string, inBody: (secret: string) => ClientAuth): ClientAuth {
  return (issuer, client, body, headers) => {
    const methods = issuer.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    if (!methods.includes('client_secret_basic')) return inBody(secret)(issuer, client, body, headers)
    headers.set('authorization', `Basic ${btoa([client.client_id, secret].map(encodeURIComponent).join(':'))}`)
  }
}

async function withUserInfo(issuer: Configuration, claims: UserInfoResponse, access_token: string) {
  if (claims.email !== undefined || issuer.serverMetadata().userinfo_endpoint === undefined) return claims
  const { fetchUserInfo } = await load()
  return { ...(await fetchUserInfo(issuer, access_token, claims.sub)), ...claims }
}

function readClaims(claims: UserInfoResponse): Claims {
  const { sub: subject, email } = claims
  // Half characters would be stored as one and the same: two subjects would become one user.
  if (!/^[^\p{Cc}]{1,255}$/u.test(subject) || !subject.isWellFormed())
    throw new IssuerError('its ID token has no usable subject')
  const name: unknown = claims.name ?? claims.preferred_username ?? email
  const groups = Array.isArray(claims['groups']) ? claims['groups'] : []
  return {
    subject,
    email: typeof email === 'string' ? email.trim() : '',
    email_verified: claims.email_verified === true,
    name: typeof name === 'string' ? name : '',
    groups: groups.filter((group) => typeof group === 'string').slice(0, groups_max),
  }
}

const fetchBounded: CustomFetch = async (url, options) => {
  try {
    // With these the library itself would call fetch.
    const response = await fetch(url, options as RequestInit)
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of response.body ?? []) {
      size += chunk.length
      if (size > answer_bytes_max) throw new Error('the answer is too long')
      chunks.push(chunk)
    }
    const body = Buffer.concat(chunks)
    if (!response.ok) throw new Error(`${response.status} ${body.toString('utf8').slice(0, 200)}`)
    return new Response(body, response)
  } catch (error) {
    const reason = messageOf(error)
    throw new IssuerError(`${new URL(url).origin} gives no usable answer: ${reason}`, { cause: error })
  }
}

/** Every error of the work becomes an IssuerError. */
async function believing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { AuthorizationResponseError, ClientError } = await load()
    const reason = error instanceof ClientError && error.cause instanceof Error ? error.cause : error
    if (reason instanceof IssuerError) throw reason
    if (reason instanceof AuthorizationResponseError) {
      throw new IssuerError(`it answered ${JSON.stringify(reason.error.slice(0, 100))}`)
    }
    const said = messageOf(reason)
    throw new IssuerError(`its answer cannot be believed: ${said}`, { cause: error })
  }
}
