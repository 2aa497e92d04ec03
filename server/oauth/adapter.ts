// The authorization server's memory, kept in the metadata store so that any server can go on where another one was.
// 1. Sessions, logins under way, codes and refresh tokens are stored under their hash, and their id stands nowhere else:
//    a reader of the store cannot use them.
// 2. Each may be used once, also when two requests come at the same moment: the second ends the whole grant.
// 3. A grant that ends is removed at once: its access tokens are refused from then on.
// 4. What a program sends as its own text is text: with NUL or half a character in it the store could keep the record and read no part of it.
import { hash } from 'node:crypto'
import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'
import type { Db } from '../store/db.ts'
import {
  consumeRecord,
  findRecord,
  removeGrant,
  removeRecord,
  removeRecordsOfGrant,
  saveRecord,
  type RecordPayload,
} from './records.ts'
import { registered_model, unused_seconds } from './registered.ts'

// A device code is looked up by the code that a person types, too, and then needs its own id: it lives for minutes.
const hashed_models = new Set(['AuthorizationCode', 'RefreshToken', 'Session', 'Interaction'])
/** Stands for the id of a record within it, as in the address at which a login goes on. */
const own_id = '{own id}'
/** For the few records without a lifetime of their own. */
const seconds_default = 24 * 60 * 60
/** NUL, or half a character, as JSON writes them. */
const no_text = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/

type AdapterParts = {
  /** What is thrown when a thing that may be used once is used again. */
  reuse: () => Error
  /** What is thrown when something to be stored contains what is no text. */
  notText: () => Error
  /** Drops what is believed about callers. */
  forget: () => void
  /** What is stored of a program that registers itself. */
  admit: (said: RecordPayload) => Promise<RecordPayload>
}

export function newAdapter(db: Db, { reuse, notText, forget, admit }: AdapterParts): AdapterFactory {
  return (model) => {
    const keyOf = (id: string) => recordIdOf(model, id)
    const find = async (by: 'id' | 'uid' | 'user_code', value: string, id?: string) => {
      // PostgreSQL takes no such text.
      if (value.includes('\0')) return undefined
      const row = await findRecord(db, model, by, value)
      if (row === undefined) return undefined
      const consumed = row.consumed_at === null ? {} : { consumed: Math.floor(row.consumed_at.getTime() / 1000) }
      const payload = id === undefined ? row.payload : { ...withText(row.payload, own_id, id), jti: id }
      // What comes back is what upsert was given.
      return { ...payload, ...consumed } as AdapterPayload
    }
    const adapter: Adapter = {
      upsert: async (id, payload, seconds = model === registered_model ? unused_seconds : seconds_default) => {
        if (no_text.test(JSON.stringify(payload))) throw notText()
        return saveRecord(db, {
          model,
          id: keyOf(id),
          payload: model === registered_model ? await admit(payload) : storedOf(model, payload),
          user_id: userOf(payload),
          grant_id: payload.grantId,
          user_code: payload.userCode,
          uid: payload.uid,
          expires_at: new Date(Date.now() + seconds * 1000),
        })
      },
      find: (id) => find('id', keyOf(id), id),
      findByUid: (uid) => find('uid', uid),
      findByUserCode: (user_code) => find('user_code', user_code),
      consume: async (id) => {
        if (await consumeRecord(db, model, keyOf(id))) return
        const grant_id = (await find('id', keyOf(id)))?.grantId
        if (grant_id !== undefined) await removeGrant(db, grant_id)
        forget()
        throw reuse()
      },
      destroy: async (id) => {
        await removeRecord(db, model, keyOf(id))
        if (model === 'Grant') forget()
      },
      revokeByGrantId: (grant_id) => removeRecordsOfGrant(db, model, grant_id),
    }
    return adapter
  }
}

export function recordIdOf(model: string, id: string): string {
  return hashed_models.has(model) ? hash('sha256', id, 'base64url') : id
}

/** Of a login under way: the user who was proved, or else the one who is logged in with that browser. It ends with their other logins. */
function userOf({ accountId, result, session }: AdapterPayload): number | undefined {
  const account_id = accountId ?? result?.login?.accountId ?? session?.accountId
  return account_id === undefined ? undefined : Number(account_id)
}

function storedOf(model: string, { jti, ...rest }: AdapterPayload): RecordPayload {
  if (!hashed_models.has(model)) return { ...rest, jti }
  // A login under way would tell the id of its session, too; no code reads it there.
  const { session } = rest
  const stored = session?.['cookie'] === undefined ? rest : { ...rest, session: { ...session, cookie: undefined } }
  return jti === undefined ? stored : withText(stored, jti, own_id)
}

/** Every occurrence of one text replaced by another, at any depth. Ids need no escaping in JSON. */
function withText(payload: RecordPayload, text: string, by: string): RecordPayload {
  const json = JSON.stringify(payload)
  return json.includes(text) ? (JSON.parse(json.replaceAll(text, () => by)) as RecordPayload) : payload // the same shape
}
