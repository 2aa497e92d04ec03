// The authorization server: oidc-provider with everything switched off that is not used, and its pages replaced.
// It is loaded at the first request for it: it is large, and most installations rarely need it.
import type { Configuration, default as Provider, KoaContextWithOIDC } from 'oidc-provider'
import { base_path } from '#contract/api.ts'
import type { Db } from '../store/db.ts'
import type { Log } from '../log.ts'
import { newAdapter } from './adapter.ts'
import { api_scope, clientsOf, console_client_id, isForApi, mcp_scopes, resourceOf } from './clients.ts'
import { documentSettings } from './documents.ts'
import { setPageHeaders } from './page.ts'
import {
  deviceConfirmPage,
  deviceDonePage,
  deviceInputPage,
  errorPage,
  loggedOutPage,
  logoutPage,
  notLoggedInPage,
} from './pages.ts'
import { admitProgram, registration } from './registered.ts'
import { type Keys, signing_alg, type SigningKey } from './keys.ts'
import { bindLogin, loginPathOf, type LoginUnderWay, resume_cookie } from './login-browser.ts'
import { findUser } from './users.ts'

export type { Provider }

export const access_token_seconds = 15 * 60
const day_seconds = 24 * 60 * 60

const ttl = {
  AccessToken: access_token_seconds,
  AuthorizationCode: 60,
  DeviceCode: 10 * 60,
  // The end of a login in use; an unused login ends with its refresh token.
  Grant: 90 * day_seconds,
  IdToken: access_token_seconds,
  Interaction: 30 * 60,
  RefreshToken: 14 * day_seconds,
  Session: day_seconds / 2,
}

const cors_headers = ['access-control-allow-origin', 'access-control-expose-headers', 'vary']

/** forget: see OauthParts. */
type ProviderParts = {
  db: Db
  keys: Keys
  log: Log
  origin: () => string
  forget: () => void
  /** Whether programs of agents may register themselves, or name a document of theirs. */
  registers: boolean
}

export const issuerOf = (origin: string) => `${origin}/oauth`
export const audienceOf = (origin: string) => origin + base_path

/** Loads it at the first call, and makes another one when there is a new key to sign with. */
export function newProviders(parts: ProviderParts): () => Promise<Provider> {
  let latest: { kid: string; provider: Promise<Provider> } | undefined
  return async () => {
    const key = await parts.keys.signing()
    if (latest?.kid !== key.kid) {
      const made = { kid: key.kid, provider: makeProvider(parts, key) }
      made.provider.catch(() => {
        if (latest === made) latest = undefined
      })
      latest = made
    }
    return latest.provider
  }
}

async function makeProvider(parts: ProviderParts, key: SigningKey): Promise<Provider> {
  const { db, log, origin, forget, registers } = parts
  const { Provider, errors } = await import('oidc-provider')
  const reuse = () => new errors.InvalidGrant('it was used already')
  const notText = () => new errors.InvalidRequest('a parameter is not well-formed Unicode without NUL')
  const unknownResource = () => new errors.InvalidTarget()
  const provider = new Provider(issuerOf(origin()), {
    ...protocolOf(origin(), { unknownResource, registers, reads: registers ? documentSettings(errors) : undefined }),
    ...pagesOf(db, origin()),
    adapter: newAdapter(db, { reuse, notText, forget, admit: (said) => admitProgram(db, said, errors) }),
    jwks: { keys: [{ ...key.private_jwk, kty: 'EC', kid: key.kid, alg: signing_alg, use: 'sig' }] },
    findAccount: async (_context, id) => {
      const user = await findUser(db, Number(id))
      if (user === undefined) return undefined
      return { accountId: id, claims: () => ({ sub: id, email: user.email, name: user.name }) }
    },
  } as Configuration) // Its types ask for RSA members of every key.
  // What mount.ts writes into the headers is believed: address, scheme and host come from there only.
  provider.proxy = true
  provider.use(async (context, next) => {
    await next()
    // Browsers let pages of this site read its answers, and the library would let every other one.
    for (const name of cors_headers) context.remove(name)
    replaceScript(context, origin())
  })
  provider.on('registration_create.success', (context, { clientId, clientName, redirectUris }) => {
    const facts = { client_id: clientId, name: clientName, redirect_uris: redirectUris, address: context.ip }
    log.info(facts, 'a program registered itself')
  })
  provider.on('server_error', (_context, error) => log.error({ err: error }, 'the authorization server failed'))
  // Its own events are typed; the `error` event of its framework is not among them.
  const application: NodeJS.EventEmitter = provider
  application.on('error', (error) => log.error({ err: error }, 'the authorization server failed'))
  return provider
}

type ProtocolParts = {
  unknownResource: () => Error
  registers: boolean
  reads: ReturnType<typeof documentSettings> | undefined
}

function protocolOf(origin: string, { unknownResource, registers, reads }: ProtocolParts) {
  const off = { enabled: false }
  return {
    clients: clientsOf(origin),
    clientDefaults: { id_token_signed_response_alg: signing_alg, token_endpoint_auth_method: 'none' },
    clientAuthMethods: ['none'],
    clientBasedCORS: () => false,
    claims: { openid: ['sub'], email: ['email'], profile: ['name'] },
    scopes: ['openid', 'offline_access'],
    responseTypes: ['code'],
    pkce: { required: () => true },
    ttl,
    // A login is not bound to the browser that it was made with.
    expiresWithSession: () => false,
    issueRefreshToken: (_context: unknown, client: { grantTypeAllowed(type: string): boolean }) =>
      client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    loadExistingGrant,
    ...(reads && { fetch: reads.fetch, fetchResponseBodyLimits: reads.fetchResponseBodyLimits }),
    // So that a verifier can see whether the login still stands.
    extraTokenClaims: (_context: unknown, token: { grantId?: string }) => ({ grant: token.grantId }),
    features: {
      devInteractions: off,
      dPoP: off,
      pushedAuthorizationRequests: off,
      userinfo: off,
      registration: registers ? registration : off,
      clientIdMetadataDocument: reads?.feature ?? off,
      revocation: {
        enabled: true,
        allowedPolicy: (_context: unknown, client: { clientId: string }, token: { clientId?: string }) =>
          token.clientId === client.clientId,
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: (_context: unknown, client: { clientId: string }) => resourceFor(client, origin).resource,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context: unknown, resource: string, client: { clientId: string }) => {
          const own = resourceFor(client, origin)
          if (resource !== own.resource) throw unknownResource()
          return {
            scope: own.scope,
            audience: resource,
            accessTokenFormat: 'jwt',
            accessTokenTTL: access_token_seconds,
            jwt: { sign: { alg: signing_alg } },
          }
        },
      },
      ...deviceAndLogout(origin),
    },
  }
}

/** A program gets tokens for one place: an agent's are none for the API, and the reverse. */
function resourceFor({ clientId }: { clientId: string }, origin: string): { resource: string; scope: string } {
  return isForApi(clientId)
    ? { resource: audienceOf(origin), scope: api_scope }
    : { resource: resourceOf(origin), scope: mcp_scopes.join(' ') }
}

function show(context: KoaContextWithOIDC, page: string): void {
  context.type = 'html'
  context.body = page
}

const logoutUrl = (origin: string) => `${issuerOf(origin)}/session/end/confirm`

function deviceAndLogout(origin: string) {
  const device_url = `${issuerOf(origin)}/device`
  return {
    deviceFlow: {
      enabled: true,
      deviceInfo: () => ({}),
      userCodeInputSource: (context: KoaContextWithOIDC, _form: string, out?: object, error?: Error) => {
        const message = error === undefined && out === undefined ? undefined : deviceProblem(error)
        const user_code = typedCode(context)
        show(context, deviceInputPage({ action: device_url, xsrf: xsrfOf(context), user_code, message }))
      },
      userCodeConfirmSource: (
        context: KoaContextWithOIDC,
        _form: string,
        _client: unknown,
        _device: unknown,
        user_code: string,
      ) => {
        show(context, deviceConfirmPage({ action: device_url, xsrf: xsrfOf(context), user_code }))
      },
      successSource: (context: KoaContextWithOIDC) => show(context, deviceDonePage()),
    },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: (context: KoaContextWithOIDC) =>
        show(context, logoutPage({ action: logoutUrl(origin), xsrf: xsrfOf(context) })),
      postLogoutSuccessSource: (context: KoaContextWithOIDC) => show(context, loggedOutPage()),
    },
  }
}

function pagesOf(db: Db, origin: string) {
  return {
    cookies: {
      names: { session: 'howdah_session', interaction: 'howdah_login', resume: resume_cookie },
      long: { httpOnly: true, sameSite: 'lax', path: '/oauth' },
      short: { httpOnly: true, sameSite: 'lax' },
    },
    interactions: {
      // Asked once for each login, when it begins.
      url: async (context: KoaContextWithOIDC, login: LoginUnderWay) => {
        context.append('set-cookie', await bindLogin(db, login, origin))
        return loginPathOf(login.uid)
      },
    },
    discovery: { service_documentation: `${origin}/docs` },
    renderError: (context: KoaContextWithOIDC, out: { error: string; error_description?: string | undefined }) =>
      show(context, errorPage(problemOf(out, origin))),
  }
}

/** The console goes on with what its user has granted; each login of another program is a grant of its own. */
async function loadExistingGrant(context: KoaContextWithOIDC) {
  const { client, session, result, provider } = context.oidc
  const of_session = client?.clientId === console_client_id ? session?.grantIdFor(client.clientId) : undefined
  const grant_id = result?.consent?.grantId ?? of_session
  return grant_id === undefined ? undefined : provider.Grant.find(grant_id)
}

/** A logout without a login is answered by the library with a form that only a script would send on. */
function replaceScript(context: Partial<KoaContextWithOIDC>, origin: string): void {
  const { oidc, status, res } = context
  if (oidc?.route !== 'end_session' || status !== 200 || oidc.session?.accountId !== undefined) return
  // It has allowed its script there.
  if (res !== undefined) setPageHeaders(res)
  context.body = notLoggedInPage({ action: logoutUrl(origin), xsrf: xsrfOf({ oidc }) })
}

function xsrfOf(context: Pick<KoaContextWithOIDC, 'oidc'>): string {
  const secret = context.oidc.session?.state?.['secret']
  return typeof secret === 'string' ? secret : ''
}

/** The code that came with the link: mount.ts keeps it here, because the library would send it on with a script. */
function typedCode(context: KoaContextWithOIDC): string {
  return context.get('x-user-code')
}

function deviceProblem(error: Error | undefined): string {
  if (error?.name === 'AbortedError') return 'The login was refused. You can close this page.'
  if (error !== undefined && ('userCode' in error || error.name === 'NoCodeError')) {
    return 'That code is wrong, has expired or was used already. Look at it again, or ask for a new one.'
  }
  return 'That did not work. Type the code again.'
}

function problemOf(
  { error, error_description }: { error: string; error_description?: string | undefined },
  origin: string,
) {
  if (error === 'server_error') return 'The server failed to answer. Try again in a moment.'
  if (/session not found|has expired|mismatch|cookie/.test(error_description ?? '')) {
    return `This login has expired, or it began in another browser or under another address than ${origin}. Begin again where you came from.`
  }
  return `The program that sent you here asked for something that is not possible: ${error_description ?? error}.`
}
