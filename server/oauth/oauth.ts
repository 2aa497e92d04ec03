// People's logins, as one part of the server: the pages and the authorization server below /oauth, the verifier of the
// tokens that it issues, and the sweeping of what has expired.
import assert from 'node:assert/strict'
import type { FastifyError, FastifyInstance, FastifyReply } from 'fastify'
import { Fault } from '#contract/fault.ts'
import { addressOf } from '../http/admission.ts'
import type { Config } from '../config.ts'
import type { Db } from '../store/db.ts'
import { declaresTooMuch, endAfterAnswer } from '../http/body.ts'
import { faultOf, sendFault, tooLarge } from '../http/errors.ts'
import type { Handlers } from '../http/handler.ts'
import type { Verifier } from '../identity/callers.ts'
import type { Log } from '../log.ts'
import { addressKey, newRateLimit } from '../http/rate-limit.ts'
import type { Secret } from '../secret.ts'
import { resourceOf } from './clients.ts'
import { newExternalLogin } from './external-login.ts'
import { serveExternalLogin } from './external-routes.ts'
import { readForms } from './form.ts'
import { newKeys } from './keys.ts'
import { loginLinkHandlers } from './login-link.ts'
import { serveLogin } from './login.ts'
import { mountProvider } from './mount.ts'
import type { OauthParts } from './oauth-parts.ts'
import { page_headers, sendPage } from './page.ts'
import { errorPage } from './pages.ts'
import { newPasswords } from './password.ts'
import { servePasswords } from './password-routes.ts'
import { newProviders } from './provider.ts'
import { sweepRecords } from './records.ts'
import { newThrottle } from './throttle.ts'
import { type AccessTokenReader, newAccessTokenReader, newJwtVerifier } from './verifier.ts'

const sweep_ms = 10 * 60 * 1000
/** Of one address: no user logs in, refreshes or polls more often for long. */
const requests = { per_second: 5, burst: 120 }

type Oauth = {
  verifier: Verifier
  /** Of tokens that are for agents. */
  readAccessToken: AccessTokenReader
  handlers: Pick<Handlers, 'createLoginLink'>
  serve(app: FastifyInstance, forget: () => void): void
  /** Where browsers reach us: known when the server listens. */
  setOrigin(url: string): void
  origin: () => string
  close(): void
}

type Place = { config: Config; db: Db; log: Log; installation_id: string; secret: Secret }

export function openOauth({ config, db, log, installation_id, secret }: Place): Oauth {
  let public_url = config.public_url
  const origin = () => {
    assert(public_url !== undefined, 'no request comes before the server listens')
    return public_url
  }
  const keys = newKeys({ db, installation_id, secret })
  const sweep = () => sweepRecords(db).catch((error: unknown) => log.warn({ err: error }, 'sweeping logins failed'))
  const sweeping = setInterval(() => void sweep(), sweep_ms).unref()
  return {
    verifier: newJwtVerifier({ db, keys, origin }),
    readAccessToken: newAccessTokenReader({ db, keys, origin }, resourceOf),
    handlers: loginLinkHandlers({ db, origin, has_passwords: config.oidc_issuer === undefined }),
    serve: (app, forget) => {
      const passwords = newPasswords()
      const provider = newProviders({ db, keys, log, origin, forget, registers: config.mcp_registration === 'on' })
      const external = newExternalLogin({ config, db, log, origin, forget })
      const parts = { db, log, keys, passwords, throttle: newThrottle(db), external, provider, origin, forget }
      void app.register(async (scope) => serveOauth(scope, parts, config.rate_limit > 0))
    },
    origin,
    setOrigin: (url) => {
      public_url = url
    },
    close: () => clearInterval(sweeping),
  }
}

function serveOauth(scope: FastifyInstance, parts: OauthParts, limited: boolean): void {
  const limit = newRateLimit(requests)
  scope.addHook('onRequest', async (request, reply) => {
    reply.headers(page_headers)
    const wait_seconds = limited ? limit.take(addressKey(addressOf(request))) : 0
    if (wait_seconds > 0) throw tooMany(wait_seconds)
    // Before the library gets it, which reads on.
    if (declaresTooMuch(request)) throw tooLarge()
  })
  scope.setErrorHandler((error: FastifyError, request, reply) => {
    const fault = faultOf(error, request.id, parts.log)
    if (fault.code === 'PAYLOAD_TOO_LARGE') endAfterAnswer(request, reply)
    if (request.headers.accept?.includes('text/html') !== true) return sendFault(reply, fault)
    return sendFaultPage(reply, fault)
  })
  readForms(scope)
  serveLogin(scope, parts)
  if (parts.external === undefined) servePasswords(scope, parts)
  else serveExternalLogin(scope, parts, parts.external)
  mountProvider(scope, parts)
}

function sendFaultPage(reply: FastifyReply, fault: Fault): FastifyReply {
  if (fault.retry_after_seconds !== undefined) reply.header('retry-after', String(fault.retry_after_seconds))
  return sendPage(reply.code(fault.status), errorPage(fault.message))
}

const tooMany = (retry_after_seconds: number): Fault =>
  new Fault('RATE_LIMITED', `Too many requests. Try again in ${retry_after_seconds} seconds.`, { retry_after_seconds })
