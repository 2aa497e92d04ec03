// Logging in at an outside issuer instead of with a password. The way there and back belongs to one login in one
// browser: its state names the login, whose cookie must come along, and is used once.
import type { FastifyInstance, FastifyReply } from 'fastify'
import { hash, randomBytes } from 'node:crypto'
import { Fault } from '#contract/fault.ts'
import { type Config, ConfigError } from '../config.ts'
import type { Db } from '../db.ts'
import type { Log } from '../log.ts'
import { IssuerError, type Journey, newExternalIssuer } from './external-issuer.ts'
import { ensureExternalUser } from './external-user.ts'
import { expired, finishLogin, type Login, login_path, openLogin, uid_form } from './login.ts'
import type { OauthParts } from './oauth-parts.ts'
import { elsewherePage } from './pages.ts'
import { saveRecord, takeRecord } from './records.ts'

export type ExternalLogin = {
  begin(login: Login): Promise<FastifyReply>
  serve(scope: FastifyInstance, parts: OauthParts): void
}

/** What the issuer must be told as our redirect URI, below our public URL. */
export const callback_path = '/oauth/external/callback'

const journey_model = 'ExternalLogin'
const journey_seconds = 10 * 60

type Place = { config: Config; db: Db; log: Log; origin: () => string; forget: () => void }

export function newExternalLogin({ config, db, log, origin, forget }: Place): ExternalLogin | undefined {
  const { oidc_issuer: issuer, oidc_client_id: client_id, oidc_client_secret: client_secret } = config
  if (issuer === undefined) return undefined
  if (client_id === undefined) throw new ConfigError('--oidc-issuer needs --oidc-client-id, too')
  const external = newExternalIssuer({ issuer, client_id, client_secret })
  const telling = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      if (!(error instanceof IssuerError)) throw error
      log.warn({ err: error, issuer }, 'a login at the outside issuer failed')
      throw new Fault('FORBIDDEN', 'The login did not work: the issuer refused it or could not be reached. Try again.')
    })

  const finish = async (login: Login, answer: URLSearchParams): Promise<FastifyReply> => {
    const state = answer.get('state') ?? ''
    const journey = await takeRecord(db, journey_model, hash('sha256', state, 'base64url'))
    if (journey === undefined || journey['uid'] !== login.interaction.uid) throw expired()
    // begin wrote it.
    const claims = await telling(external.claimsOf(journey as unknown as Journey, answer))
    const user_id = await db.transaction((tx) => ensureExternalUser(tx, issuer, claims, config.oidc_groups))
    forget()
    return finishLogin(login, user_id)
  }

  return {
    begin: async ({ interaction: { uid, deviceCode }, reply }) => {
      const state = `${uid}.${newRandom()}`
      const journey = { redirect_uri: origin() + callback_path, nonce: newRandom(), code_verifier: newRandom() }
      const url = await telling(external.authorizationUrl({ ...journey, state }))
      await saveRecord(db, {
        model: journey_model,
        id: hash('sha256', state, 'base64url'),
        payload: { ...journey, uid },
        user_id: null,
        grant_id: null,
        user_code: null,
        uid: null,
        expires_at: new Date(Date.now() + journey_seconds * 1000),
      })
      if (deviceCode === undefined) return reply.redirect(url, 303)
      // A form led here, and browsers follow forms to nowhere but this site: people follow a link.
      return reply.type('text/html; charset=utf-8').send(elsewherePage({ issuer, url }))
    },
    serve: (scope, parts) => {
      // Back from the issuer, to where the cookie of this login is sent to; the path is ours whatever the query says.
      scope.get(callback_path, async (request, reply) => {
        const query = queryOf(request.url)
        const [uid = ''] = (query.get('state') ?? '').split('.')
        if (!uid_form.test(uid)) throw expired()
        return reply.redirect(`/oauth/login/${uid}/external?${query}`, 303)
      })
      scope.get(`${login_path}/external`, async (request, reply) => {
        const login = await openLogin(parts, request, reply)
        if (login.interaction.prompt.name !== 'login') throw expired()
        return finish(login, queryOf(request.url))
      })
    },
  }
}

const newRandom = () => randomBytes(32).toString('base64url')
const queryOf = (url: string) => new URLSearchParams(url.split('?').slice(1).join('?'))
