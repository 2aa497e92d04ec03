// The login of the console: authorization code with PKCE, done by the server, so that a browser never holds a refresh token.
// 1. The tokens of a login are in the store, sealed with a key that only the browser's cookie gives.
// 2. All tabs share one access token; one request at a time renews it, under the lock of its row.
// 3. The routes that answer a token want a request of this origin with a header that no form can send.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createHash } from 'node:crypto'
import { Fault } from '#contract/fault.ts'
import { addressOf } from '../http/admission.ts'
import { newGate } from '../http/gate.ts'
import { api_scope, console_client_id } from '../oauth/clients.ts'
import { endLogin } from '../oauth/logout.ts'
import { page_headers, sendPage } from '../oauth/page.ts'
import { errorPage } from '../oauth/pages.ts'
import { issuerOf } from '../oauth/provider.ts'
import { findUserOfGrant } from '../oauth/records.ts'
import { newRandomText } from '../random-text.ts'
import { newSecret } from '../secret.ts'
import type { Db, Sql } from '../store/db.ts'
import { hashOf, keyOf, loginCookie, loginIn, returnPathOf, sessionCookie, sessionValueIn } from './cookie.ts'
import { insertSession, lockSession, removeConsoleSession, saveTokens } from './store.ts'
import { type AskForTokens, claimsOf, newAskForTokens, type Tokens } from './tokens.ts'

export type SessionParts = {
  db: Db
  origin: () => string
  /** Drops what is believed about callers. */ forget: () => void
}

type Parts = SessionParts & { askForTokens: AskForTokens }

const renew_before_ms = 60_000
const sealed_label = 'console session'
/** Each renewal has two connections to the store, of the ten there are. */
const renewals = {
  at_once_max: 3,
  waiting_max: 500,
  refusal: () => new Fault('UNAVAILABLE', 'too many logins are being renewed'),
}

export function serveSessions(app: FastifyInstance, given: SessionParts): void {
  const parts = { ...given, askForTokens: newAskForTokens(app, given.origin) }
  const renewal = newGate(renewals)
  app.get('/console/login', async (request, reply) => beginLogin(parts, request, reply))
  app.get('/console/callback', async (request, reply) => finishLogin(parts, request, reply))
  app.get('/console/', async (_request, reply) => reply.redirect('/', 303))
  app.post('/console/session', async (request, reply) => {
    const value = ownSession(parts, request)
    const session = value && (await renewal(() => readSession(parts, value, addressOf(request))))
    if (!session) throw endedLogin(parts, reply)
    return session
  })
  app.delete('/console/session', async (request, reply) => {
    const value = ownSession(parts, request)
    if (value !== undefined) await endSession(parts, value)
    reply.header('set-cookie', sessionCookie(parts.origin(), ''))
    return { location: '/console/' }
  })
}

function beginLogin({ origin }: Parts, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const [state, code_verifier] = [newRandomText(), newRandomText()]
  const return_path = returnPathOf(queryOf(request)['return'], origin())
  const query = new URLSearchParams({
    client_id: console_client_id,
    redirect_uri: `${origin()}/console/callback`,
    response_type: 'code',
    scope: `openid ${api_scope}`,
    state,
    code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  reply.header('set-cookie', loginCookie(origin(), { state, code_verifier, return_path }))
  return reply.redirect(`${issuerOf(origin())}/auth?${query}`, 303)
}

async function finishLogin(parts: Parts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { db, origin, askForTokens } = parts
  const { state, code, iss, error, error_description } = queryOf(request)
  const login = loginIn(request.headers.cookie)
  reply.header('set-cookie', loginCookie(origin(), undefined))
  if (login === undefined || login.state !== state || iss !== issuerOf(origin())) {
    return sendProblem(
      reply,
      `This login has expired, or it began in another browser. Open ${origin()} and begin again.`,
    )
  }
  const tokens =
    code === undefined
      ? undefined
      : await askForTokens(addressOf(request), {
          grant_type: 'authorization_code',
          code,
          code_verifier: login.code_verifier,
          redirect_uri: `${origin()}/console/callback`,
        })
  if (tokens === undefined)
    return sendProblem(reply, error_description ?? error ?? 'The login was refused. Begin again.')
  const value = newRandomText()
  await insertSession(db, { id_hash: hashOf(value), sealed: sealed(value, tokens), ...claimsOf(tokens.access_token) })
  reply.header('set-cookie', sessionCookie(origin(), value))
  // The cookie may have been planted.
  return reply.redirect(returnPathOf(login.return_path, origin()), 303)
}

type Session = { access_token: string; expires_at: string; user: { id: string; email: string; name: string } }

/** Undefined when the login has ended. */
function readSession({ db, askForTokens }: Parts, value: string, address: string): Promise<Session | undefined> {
  const id_hash = hashOf(value)
  return db.transaction(async (tx) => {
    const row = await lockSession(tx, id_hash)
    const kept = row && opened(value, row.sealed)
    const user = row && (await findUserOfGrant(tx, row.grant_id, row.user_id))
    const tokens = user && kept && (await current(tx, kept, { id_hash, value, address, askForTokens }))
    if (!tokens) {
      await removeConsoleSession(tx, id_hash)
      return undefined
    }
    const { access_token, expires_at } = tokens
    const { id, email, name } = user
    return { access_token, expires_at: new Date(expires_at).toISOString(), user: { id: String(id), email, name } }
  })
}

type Renewal = { id_hash: string; value: string; address: string; askForTokens: AskForTokens }

/** The tokens as they are, or renewed when they end within a minute. */
async function current(tx: Sql, kept: Tokens, { id_hash, value, address, askForTokens }: Renewal) {
  if (kept.expires_at - Date.now() > renew_before_ms) return kept
  const tokens = await askForTokens(address, { grant_type: 'refresh_token', refresh_token: kept.refresh_token })
  if (tokens !== undefined) await saveTokens(tx, id_hash, sealed(value, tokens))
  return tokens
}

async function endSession({ db, forget }: Parts, value: string): Promise<void> {
  await db.transaction(async (tx) => {
    const row = await lockSession(tx, hashOf(value))
    if (row === undefined || opened(value, row.sealed) === undefined) return
    await endLogin(tx, row.user_id, row.grant_id)
    await removeConsoleSession(tx, hashOf(value))
  })
  forget()
}

/** The cookie's value; refuses a request that no page of ours has sent. */
function ownSession({ origin }: Parts, { headers }: FastifyRequest): string | undefined {
  const site = headers['sec-fetch-site']
  const is_ours = site === undefined ? headers.origin === origin() : site === 'same-origin'
  if (!is_ours || headers['x-howdah-console'] !== '1') {
    throw new Fault('FORBIDDEN', 'this is for the console alone; other clients use /oauth or a personal access token')
  }
  return sessionValueIn(headers.cookie, origin())
}

function endedLogin({ origin }: Parts, reply: FastifyReply): Fault {
  reply.header('set-cookie', sessionCookie(origin(), ''))
  return new Fault('UNAUTHORIZED', 'the login has ended; log in again')
}

function sendProblem(reply: FastifyReply, message: string): FastifyReply {
  return sendPage(reply.code(400).headers(page_headers), errorPage(message))
}

const sealed = (value: string, tokens: Tokens) => newSecret(keyOf(value)).seal(JSON.stringify(tokens), sealed_label)

function opened(value: string, bytes: Buffer): Tokens | undefined {
  const text = newSecret(keyOf(value)).open(bytes, sealed_label)
  return text === undefined ? undefined : (JSON.parse(text) as Tokens) // we sealed it
}

/** The first value of each parameter. */
function queryOf(request: FastifyRequest): Partial<Record<string, string>> {
  const query = new URLSearchParams(request.raw.url?.split('?', 2)[1] ?? '')
  return Object.fromEntries([...query].toReversed())
}
