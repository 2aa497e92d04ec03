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

export type Creation = {
  provider: Provider
  project_id: string
  wanted: WantedColumns
  /** The whole request, so that a key that comes with another one is refused. */
  request: Readonly<Record<string, unknown>>
  idempotency_key: string | undefined
  event: string
  /** Chooses the moment that a fork starts from, in the transaction that writes the fork. */
  sourceOf?: (tx: Sql) => Promise<Chosen>
}

/** tellParent: adds the parent's event and nudges it, after all that may have to wait for other transactions. */
export type Chosen = { source: Source; tellParent: () => Promise<unknown> }

export async function makeService({ db, secret }: ServiceContext, creation: Creation): Promise<Service> {
  const { project_id, idempotency_key } = creation
  const service_id = newId()
  const salt = newPasswordSalt(secret)
  const password = idempotency_key === undefined ? newPassword() : passwordOf(secret, idempotency_key, salt)
  assert(password !== undefined, 'this secret made the salt')
  // Computed by another thread, while the store is busy with the rest.
  const identity = { service_id, password_verifier: newVerifier(password) }
  if (idempotency_key === undefined) {
    return viewOf(creation, await db.transaction((tx) => insertMade(tx, creation, identity)), password)
  }
  const repeatable = { project_id, idempotency_key, request_hash: hashOf(creation.request) }
  const row = await db.transaction(async (tx) => {
    const first = await insertIdempotencyKey(tx, { ...repeatable, salt, service_id })
    return first ? insertMade(tx, creation, identity) : undefined
  })
  if (row !== undefined) return viewOf(creation, row, password)
  const repeat = await findRepeat(db, repeatable)
  if (repeat === undefined) throw new Fault('CONFLICT', 'this Idempotency-Key expired just now; choose a new key')
  const repeated = passwordOf(secret, idempotency_key, repeat.salt)
  if (repeated === undefined) throw answeredElsewhere()
  return viewOf(creation, repeat.row, repeated)
}

/** Another installation of the same store, or this one with another secret.key. */
const answeredElsewhere = (): Fault =>
  new Fault(
    'UNAVAILABLE',
    'only the server that answered this Idempotency-Key first can repeat its answer; send the request again, or choose a new key',
    { retry_after_seconds: 1 },
  )

function viewOf({ provider }: Creation, row: ServiceRow, initial_password: string): Service {
  return { ...serviceView(row, { now: new Date(), ...volumeOf(provider, sizeOf(row)) }), initial_password }
}

type Identity = { service_id: string; password_verifier: Promise<string> }

type Making = Pick<Creation, 'provider' | 'project_id' | 'wanted' | 'event' | 'sourceOf'>

export async function insertMade(tx: Sql, creation: Making, { service_id, ...identity }: Identity) {
  const { project_id, wanted } = creation
  if ((await countServices(tx, project_id, services_per_project_max)) >= services_per_project_max) {
    const limit = `a project has at most ${services_per_project_max} services`
    const advice = 'delete and purge one, or create another project'
    throw new Fault('QUOTA_EXCEEDED', `${limit}, deleted ones that are kept included; ${advice}`)
  }
  const chosen = await creation.sourceOf?.(tx)
  const { region_code } = wanted
  await takeAddress(tx, { provider: creation.provider, region_code, owner_id: service_id, role: 'service' })
  const password_verifier = await identity.password_verifier
  const own = { service_id, password_verifier, project_id }
  const row = await insertService(tx, { ...wanted, ...own, ...chosen?.source })
  if (creation.provider.facts().snapshots.offered)
    await insertSnapshot(tx, { snapshot_id: newId(), service_id: row.service_id, kind: 'initial' })
  await chosen?.tellParent()
  await insertEvent(tx, row.service_id, 'created', creation.event)
  await nudge(tx, 'service', row.service_id)
  return row
}

/** Two requests that say the same in another order of members are the same request. */
function hashOf(request: Readonly<Record<string, unknown>>): Buffer {
  const members = Object.entries(request).sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(members)).digest()
}
