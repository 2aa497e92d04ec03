// Logging in at an outside issuer instead of with a password. The way there and back belongs to one login: its state
// names the login and is used once.
import { hash } from 'node:crypto'
import { Fault } from '#contract/fault.ts'
import { type Config, ConfigError } from '../config.ts'
import type { Db } from '../store/db.ts'
import type { Log } from '../log.ts'
import { newRandomText } from '../random-text.ts'
import { IssuerError, type Journey, newExternalIssuer } from './external-issuer.ts'
import { ensureExternalUser } from './external-user.ts'
import { saveRecord, takeRecord } from './records.ts'

export type ExternalLogin = {
  issuer: string
  /** Where the browser of this login goes to. */
  begin(login_uid: string): Promise<string>
  /** The user who came back with this answer; undefined where it answers another login, or was used already. */
  finish(login_uid: string, answer: URLSearchParams): Promise<number | undefined>
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

  return {
    issuer,
    begin: async (login_uid) => {
      const state = `${login_uid}.${newRandomText()}`
      const journey = { redirect_uri: origin() + callback_path, nonce: newRandomText(), code_verifier: newRandomText() }
      const url = await telling(external.authorizationUrl({ ...journey, state }))
      await saveRecord(db, {
        model: journey_model,
        id: hash('sha256', state, 'base64url'),
        payload: { ...journey, uid: login_uid },
        expires_at: new Date(Date.now() + journey_seconds * 1000),
      })
      return url
    },
    finish: async (login_uid, answer) => {
      const state = answer.get('state') ?? ''
      const journey = await takeRecord(db, journey_model, hash('sha256', state, 'base64url'))
      if (journey === undefined || journey['uid'] !== login_uid) return undefined
      // begin wrote it.
      const claims = await telling(external.claimsOf(journey as unknown as Journey, answer))
      const user_id = await db.transaction((tx) => ensureExternalUser(tx, issuer, claims, config.oidc_groups))
      forget()
      return user_id
    },
  }
}
