// Programs of agents that register themselves (RFC 7591), where the operator allows it. Any program can, so it counts for little:
// 1. It has no secret, and its tokens are for agents: none is one for the API.
// 2. Its users go back to this machine or over https, and see where to before they agree, each time.
// 3. It is removed after an hour unless a user agrees to it, and 30 days after one did. There are a thousand at most.
import type { Configuration, errors as Errors } from 'oidc-provider'
import type { Sql } from '../store/db.ts'
import { countRecords, keepRecordUntil, type RecordPayload } from './records.ts'

export const registered_model = 'Client'
export const unused_seconds = 60 * 60
const used_seconds = 30 * 24 * 60 * 60
const programs_max = 1_000
const addresses_max = 10
const name_characters_max = 80

const loopback = new Set(['127.0.0.1', '[::1]', 'localhost'])
const grants = new Set(['authorization_code', 'refresh_token'])
/** All that is kept of what it says of itself. */
const kept = [
  'client_id',
  'client_id_issued_at',
  'client_name',
  'application_type',
  'redirect_uris',
  'grant_types',
  'response_types',
  'token_endpoint_auth_method',
  'id_token_signed_response_alg',
]

export const registration: NonNullable<Configuration['features']>['registration'] = {
  enabled: true,
  initialAccessToken: false,
  issueRegistrationAccessToken: false,
}

/** What is stored of a program, or an error that tells it why not. */
export async function admitProgram(db: Sql, said: RecordPayload, errors: typeof Errors): Promise<RecordPayload> {
  const lack = programLack(said)
  if (lack !== undefined) throw new errors.InvalidClientMetadata(lack)
  if ((await countRecords(db, registered_model)) >= programs_max) {
    throw new errors.TemporarilyUnavailable('too many programs have registered; try again in an hour')
  }
  return Object.fromEntries(kept.filter((member) => member in said).map((member) => [member, said[member]]))
}

/** Why a program that says this of itself is none of ours; undefined: it may be one. */
export function programLack(said: RecordPayload): string | undefined {
  const addresses = textsOf(said['redirect_uris'])
  if (addresses.length > addresses_max || !addresses.every(isSafeAddress)) {
    return `redirect_uris: at most ${addresses_max}, each with https, or with http on 127.0.0.1, [::1] or localhost`
  }
  if (!textsOf(said['grant_types']).every((grant) => grants.has(grant))) {
    return `grant_types: may be ${[...grants].join(' and ')}`
  }
  const name = said['client_name']
  if (typeof name === 'string' && (name.length > name_characters_max || /\p{C}/u.test(name))) {
    return `client_name: at most ${name_characters_max} characters, none of them invisible`
  }
  return undefined
}

/** A user has agreed to it. */
export async function keepProgram(db: Sql, client_id: string): Promise<void> {
  await keepRecordUntil(db, registered_model, client_id, new Date(Date.now() + used_seconds * 1000))
}

function isSafeAddress(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || !/^[\w.:[\]-]+$/.test(url.host)) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopback.has(url.hostname))
}

const textsOf = (value: unknown) =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []
