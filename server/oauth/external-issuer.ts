// An outside OpenID Connect issuer, as its client: where to send people, and who they are when they come back.
// 1. What the issuer says about itself is believed for an hour; its keys are fetched when an unknown one is used.
// 2. Who somebody is comes from a signed ID token for us, with our nonce; the user-info endpoint may only add to it.
// 3. Every request is bounded in time and size, and follows no redirect. The secret goes to the token endpoint only.
import type { JWTPayload, JWTVerifyGetKey } from 'jose'
import { hash } from 'node:crypto'

export type IssuerSettings = { issuer: string; client_id: string; client_secret: string | undefined }

/** One way there and back. */
export type Journey = { redirect_uri: string; nonce: string; code_verifier: string }

export type Claims = {
  subject: string
  email: string
  email_verified: boolean
  name: string
  groups: readonly string[]
}

export type ExternalIssuer = {
  authorizationUrl(journey: Journey & { state: string }): Promise<string>
  /** answer: the query with which the issuer sent them back. Throws an IssuerError for anything that is not right. */
  claimsOf(journey: Journey, answer: URLSearchParams): Promise<Claims>
}

/** The issuer cannot be used, or its answer cannot be believed; the message is for whoever runs the server. */
export class IssuerError extends Error {
  override readonly name = 'IssuerError'
}

const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const clock_skew_seconds = 60
const timeout_ms = 10_000
const answer_characters_max = 1_000_000
const metadata_trust_ms = 60 * 60 * 1000
const groups_max = 1000

type Metadata = Readonly<Record<string, unknown>>
type Known = { metadata: Metadata; keys: JWTVerifyGetKey; until: number }

export function newExternalIssuer(settings: IssuerSettings): ExternalIssuer {
  let known: Known | undefined
  const learn = async (): Promise<Known> => {
    if (known === undefined || known.until < performance.now()) known = await discover(settings)
    return known
  }
  return {
    authorizationUrl: async ({ redirect_uri, nonce, code_verifier, state }) => {
      const { metadata } = await learn()
      const url = new URL(textOf(metadata, 'authorization_endpoint'))
      const scopes = metadata['scopes_supported']
      const has_groups = Array.isArray(scopes) && scopes.includes('groups')
      const query = {
        response_type: 'code',
        client_id: settings.client_id,
        redirect_uri,
        scope: has_groups ? 'openid email profile groups' : 'openid email profile',
        state,
        nonce,
        code_challenge: hash('sha256', code_verifier, 'base64url'),
        code_challenge_method: 'S256',
      }
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
      return url.href
    },
    claimsOf: async (journey, answer) => {
      const { metadata, keys } = await learn()
      const code = codeOf(settings, metadata, answer)
      const tokens = await exchange(settings, metadata, journey, code)
      const payload = await verify(settings, keys, journey, tokens['id_token'])
      return readClaims(await withUserInfo(metadata, payload, tokens['access_token']))
    },
  }
}

async function discover({ issuer }: IssuerSettings): Promise<Known> {
  const { createRemoteJWKSet } = await import('jose/jwks/remote')
  const metadata = await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, {})
  if (metadata['issuer'] !== issuer) {
    throw new IssuerError(`it calls itself ${JSON.stringify(metadata['issuer'])}; set --oidc-issuer to exactly that`)
  }
  const keys = createRemoteJWKSet(new URL(textOf(metadata, 'jwks_uri')), { timeoutDuration: timeout_ms })
  return { metadata, keys, until: performance.now() + metadata_trust_ms }
}

function codeOf({ issuer }: IssuerSettings, metadata: Metadata, answer: URLSearchParams): string {
  const error = answer.get('error')
  if (error !== null) throw new IssuerError(`it answered ${JSON.stringify(error.slice(0, 100))}`)
  // An answer that another issuer gave must not be taken to this one (RFC 9207).
  const says_issuer = metadata['authorization_response_iss_parameter_supported'] === true || answer.has('iss')
  if (says_issuer && answer.get('iss') !== issuer) throw new IssuerError('the answer came from another issuer')
  const code = answer.get('code')
  if (code === null) throw new IssuerError('it answered without a code')
  return code
}

async function exchange(settings: IssuerSettings, metadata: Metadata, journey: Journey, code: string) {
  const { client_id, client_secret } = settings
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    redirect_uri: journey.redirect_uri,
    code_verifier: journey.code_verifier,
  })
  const headers: Record<string, string> = {}
  const methods = metadata['token_endpoint_auth_methods_supported'] ?? ['client_secret_basic']
  if (client_secret !== undefined && Array.isArray(methods) && methods.includes('client_secret_basic')) {
    const pair = `${encodeURIComponent(client_id)}:${encodeURIComponent(client_secret)}`
    headers['authorization'] = `Basic ${Buffer.from(pair).toString('base64')}`
  } else {
    body.set('client_id', client_id)
    if (client_secret !== undefined) body.set('client_secret', client_secret)
  }
  return fetchJson(textOf(metadata, 'token_endpoint'), { method: 'POST', body, headers })
}

async function verify(settings: IssuerSettings, keys: JWTVerifyGetKey, { nonce }: Journey, id_token: unknown) {
  if (typeof id_token !== 'string') throw new IssuerError('it gave no ID token')
  const { jwtVerify } = await import('jose/jwt/verify')
  const { payload } = await jwtVerify(id_token, keys, {
    issuer: settings.issuer,
    audience: settings.client_id,
    algorithms,
    clockTolerance: clock_skew_seconds,
    requiredClaims: ['sub', 'iat', 'exp', 'nonce'],
  }).catch((error: unknown) => {
    throw new IssuerError('its ID token cannot be believed', { cause: error })
  })
  if (payload['nonce'] !== nonce) throw new IssuerError('its ID token belongs to another login')
  const meant_for = payload['azp'] ?? settings.client_id
  if (meant_for !== settings.client_id) throw new IssuerError('its ID token is meant for another client')
  return payload
}

async function withUserInfo(metadata: Metadata, payload: JWTPayload, access_token: unknown): Promise<JWTPayload> {
  const endpoint = metadata['userinfo_endpoint']
  if (payload['email'] !== undefined || typeof endpoint !== 'string' || typeof access_token !== 'string') return payload
  const info = await fetchJson(endpoint, { headers: { authorization: `Bearer ${access_token}` } })
  if (info['sub'] !== payload.sub) throw new IssuerError('its user-info endpoint told about somebody else')
  return { ...info, ...payload }
}

function readClaims(payload: JWTPayload): Claims {
  const subject = payload.sub ?? ''
  // Half characters would be stored as one and the same: two subjects would become one user.
  if (!/^[^\p{Cc}]{1,255}$/u.test(subject) || !subject.isWellFormed())
    throw new IssuerError('its ID token has no usable subject')
  const email = payload['email']
  const name = payload['name'] ?? payload['preferred_username'] ?? email
  const groups = Array.isArray(payload['groups']) ? payload['groups'] : []
  return {
    subject,
    email: typeof email === 'string' ? email.trim() : '',
    email_verified: payload['email_verified'] === true,
    name: typeof name === 'string' ? name : '',
    groups: groups.filter((group) => typeof group === 'string').slice(0, groups_max),
  }
}

type Sent = { method?: 'POST'; body?: URLSearchParams; headers?: Readonly<Record<string, string>> }

async function fetchJson(url: string, init: Sent): Promise<Metadata> {
  try {
    const headers = { accept: 'application/json', ...init.headers }
    const signal = AbortSignal.timeout(timeout_ms)
    const response = await fetch(url, { ...init, headers, redirect: 'error', signal })
    const text = await response.text()
    if (!response.ok) throw new Error(`${response.status} ${text.slice(0, 200)}`)
    if (text.length > answer_characters_max) throw new Error('the answer is too long')
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) throw new Error('the answer is not an object')
    return value as Metadata // an object with members of any kind
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new IssuerError(`${new URL(url).origin} could not be asked: ${reason}`, { cause: error })
  }
}

function textOf(metadata: Metadata, name: string): string {
  const value = metadata[name]
  if (typeof value === 'string' && /^https?:\/\//.test(value)) return value
  throw new IssuerError(`its description has no ${name}`)
}
