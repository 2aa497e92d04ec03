// Makes a service: what create and fork have in common. One row at a free endpoint, its first snapshot, its event and its
// nudge in one transaction; once, however often a request with an Idempotency-Key is repeated. The answer is the only
// place where the password ever appears.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Fault } from '#contract/fault.ts'
import type { Service } from '#contract/service.ts'
import type { Provider } from '#providers/provider.ts'
import type { Sql } from '../store/db.ts'
import { takeAddress } from '../address.ts'
import { newId } from '../id.ts'
import { insertSnapshot } from '../snapshot/store.ts'
import { nudge } from '../work.ts'
import type { ServiceContext } from './context.ts'
import { insertEvent } from '../event.ts'
import { findRepeat, insertIdempotencyKey } from './idempotency.ts'
import { newPassword, newPasswordSalt, newVerifier, passwordOf } from './password.ts'
import { services_per_project_max, serviceView, sizeOf } from './rules.ts'
import { countServices, insertService, type NewService, type ServiceRow, type Source } from './store.ts'
import { volumeOf } from './view.ts'

export type WantedColumns = Omit<NewService, 'service_id' | 'project_id' | 'password_verifier' | keyof Source>

export type Repeatable = {
  project_id: string
  /** The whole request, so that a key that comes with another one is refused. */
  request: Readonly<Record<string, unknown>>
  idempotency_key: string | undefined
}

export type Creation = Repeatable & {
  provider: Provider
  wanted: WantedColumns
  event: string
  /** Chooses the moment that a fork starts from, in the transaction that writes the fork. */
  sourceOf?: (tx: Sql) => Promise<Chosen>
}

/** tellParent: adds the parent's event and nudges it, after all that may have to wait for other transactions. */
export type Chosen = { source: Source; tellParent: () => Promise<unknown> }

export async function makeService(context: ServiceContext, creation: Creation): Promise<Service> {
  const { db, secret } = context
  const { project_id, idempotency_key } = creation
  const service_id = newId()
  const salt = newPasswordSalt(secret)
  const password = idempotency_key === undefined ? newPassword() : passwordOf(secret, idempotency_key, salt)
  assert(password !== undefined, 'this secret made the salt')
  // Computed by another thread, while the store is busy with the rest.
  const identity = { service_id, password_verifier: newVerifier(password) }
  if (idempotency_key === undefined) {
    return viewOf(context, await db.transaction((tx) => insertMade(tx, creation, identity)), password)
  }
  const key = { project_id, idempotency_key, request_hash: hashOf(creation.request), salt, service_id }
  const row = await db.transaction(async (tx) =>
    (await insertIdempotencyKey(tx, key)) ? insertMade(tx, creation, identity) : undefined,
  )
  if (row !== undefined) return viewOf(context, row, password)
  const repeated = await findMade(context, creation)
  if (repeated === undefined) throw new Fault('CONFLICT', 'this Idempotency-Key expired just now; choose a new key')
  return repeated
}

/**
 * The answer to the first request with this key, if there was one. It is looked for before anything that may be true of the first
 * request and no longer of its repetition: no other answer has the password.
 */
export async function findMade(
  context: ServiceContext,
  { project_id, idempotency_key, request }: Repeatable,
): Promise<Service | undefined> {
  if (idempotency_key === undefined) return undefined
  const repeat = await findRepeat(context.db, { project_id, idempotency_key, request_hash: hashOf(request) })
  if (repeat === undefined) return undefined
  const password = passwordOf(context.secret, idempotency_key, repeat.salt)
  if (password === undefined) throw answeredElsewhere()
  return viewOf(context, repeat.row, password)
}

/** Another installation of the same store, or this one with another secret.key. */
const answeredElsewhere = (): Fault =>
  new Fault(
    'UNAVAILABLE',
    'only the server that answered this Idempotency-Key first can repeat its answer; send the request again, or choose a new key',
    { retry_after_seconds: 1 },
  )

function viewOf({ providers }: ServiceContext, row: ServiceRow, initial_password: string): Service {
  const volume = volumeOf(providers.get(row.region_code), sizeOf(row))
  return { ...serviceView(row, { now: new Date(), ...volume }), initial_password }
}

type Identity = { service_id: string; password_verifier: Promise<string> }

type Insertion = Pick<Creation, 'provider' | 'project_id' | 'wanted' | 'event' | 'sourceOf'>

export async function insertMade(
  tx: Sql,
  { provider, project_id, wanted, event, sourceOf }: Insertion,
  { service_id, password_verifier }: Identity,
): Promise<ServiceRow> {
  if ((await countServices(tx, project_id, services_per_project_max)) >= services_per_project_max) {
    const limit = `a project has at most ${services_per_project_max} services`
    const advice = 'delete and purge one, or create another project'
    throw new Fault('QUOTA_EXCEEDED', `${limit}, deleted ones that are kept included; ${advice}`)
  }
  const chosen = await sourceOf?.(tx)
  await takeAddress(tx, { provider, region_code: wanted.region_code, owner_id: service_id, role: 'service' })
  const own = { service_id, password_verifier: await password_verifier, project_id }
  const row = await insertService(tx, { ...wanted, ...own, ...chosen?.source })
  if (provider.facts().snapshots.offered)
    await insertSnapshot(tx, { snapshot_id: newId(), service_id, kind: 'initial' })
  await chosen?.tellParent()
  await insertEvent(tx, service_id, 'created', event)
  await nudge(tx, 'service', service_id)
  return row
}

/** Two requests that say the same in another order of members are the same request. */
function hashOf(request: Readonly<Record<string, unknown>>): Buffer {
  const members = Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(members)).digest()
}
