// Protection from deletion, and deleted services that are kept: listed, restored and removed for good; on one installation.
import { beforeAll, expect, test } from 'vitest'
import type { DeletedService } from '#contract/deletion.ts'
import type { Service } from '#contract/service.ts'
import { openStoreOf, untilWaiting } from '#test/database.ts'
import { needs } from '#test/offered.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { withoutMeasures } from './measures.ts'
import { startInRegion } from './region.ts'

const howdah = shared(() => startInRegion({ config: { undelete: 3600 } }))
let deleted: string

beforeAll(async () => {
  deleted = `/projects/${howdah.project_id}/deletedServices`
})

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
const at = (service_id: string, verb = '') => `${howdah.services}/${service_id}${verb}`
const listDeleted = async () => (await howdah.call<DeletedService[]>('GET', deleted)).body
const deletedIds = async () => (await listDeleted()).map(({ service_id }) => service_id)
const lastEvent = async (service_id: string) => {
  const path = `/projects/${howdah.project_id}/events?limit=1&service_id=${service_id}`
  return (await howdah.call<{ entries: { kind: string; message: string }[] }>('GET', path)).body.entries[0]
}

const rolesOf = ({ replicas = [] }: Service) => replicas.map(({ role }) => role).join()

/** Until the API shows it no more. */
async function deleteService(service_id: string): Promise<void> {
  expect((await howdah.call('DELETE', at(service_id))).status).toBe(202)
  await howdah.untilStatus(service_id, 'removed')
}

async function isInStore(service_id: string): Promise<boolean> {
  const db = openStoreOf(howdah)
  const rows = await db.query(`select from services where service_id = $1`, [service_id])
  await db.close()
  return rows.length > 0
}

test('a PROD service is protected until setProtection says otherwise, and a DEV service once it says so', async () => {
  const prod = await howdah.createService({ environment_tag: 'PROD' })
  expect(prod).toMatchObject({ protected: true })
  const refused = await howdah.call('DELETE', at(prod.service_id))
  expect(refused).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
  expect(refused.body.message).toContain('setProtection {"protected": false}')
  const freed = await howdah.call('POST', at(prod.service_id, '/setProtection'), { protected: false })
  expect(freed).toMatchObject({ status: 200, body: { protected: false } })
  await deleteService(prod.service_id)

  const dev = await howdah.createService()
  expect(dev).toMatchObject({ protected: false })
  await howdah.call('POST', at(dev.service_id, '/setProtection'), { protected: true })
  expect((await howdah.call('DELETE', at(dev.service_id))).status).toBe(409)
  expect((await howdah.call('GET', at(dev.service_id))).body.status).toBe('READY')

  const tagged = await howdah.createService()
  await howdah.call('POST', at(tagged.service_id, '/setEnvironment'), { environment: 'PROD' })
  expect((await howdah.call('DELETE', at(tagged.service_id))).status).toBe(409)
})

test('a protected service does not expire: it is told so, or stays at the moment', async () => {
  const [{ service_id }, other] = await Promise.all([
    howdah.createService({ expires_at: '2030-01-31T12:00:00Z' }),
    howdah.createService({ expires_at: '2030-01-31T12:00:00Z' }),
  ])
  await howdah.call('POST', at(service_id, '/setProtection'), { protected: true })
  const db = openStoreOf(howdah)
  // It is not told that it will be deleted. The one that ends after it is looked at after it.
  const soon = `update services set expires_at = now() + make_interval(secs => $2) where service_id = $1`
  await db.query(soon, [service_id, 500])
  await db.query(soon, [other.service_id, 590])
  await until(async () => (await lastEvent(other.service_id))?.kind === 'expiring')
  expect((await howdah.eventsOf(service_id)).map(({ kind }) => kind)).not.toContain('expiring')
  await db.query('update services set expires_at = now() where service_id = $1', [service_id])
  await db.close()
  await until(async () => (await lastEvent(service_id))?.kind === 'expired')
  expect((await lastEvent(service_id))?.message).toContain('it is protected, so it stays')
  const stays = await howdah.call('GET', at(service_id))
  expect(stays.body.status).toBe('READY')
  expect(stays.body).not.toHaveProperty('expires_at')
  const late = await howdah.call('POST', at(service_id, '/setExpiry'), { expires_at: inSeconds(3600) })
  expect(late).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
  expect((await howdah.call('POST', at(service_id, '/setExpiry'), { expires_at: null })).status).toBe(200)
  const input = { name: 'no', environment_tag: 'PROD', expires_at: inSeconds(3600) }
  const made = await howdah.call('POST', howdah.services, input)
  expect(made).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
  expect(made.body.details).toMatch(/^\/expires_at: does not go with \/environment_tag PROD/)
})

test('a deleted service is unknown, and comes back as it was', async () => {
  const made = await howdah.createService({ name: 'slip', replica_count: 1 })
  const { service_id } = made
  const set = { name: 'readers', nodes: 1, cpu_millis: 500, memory_gbs: 2 }
  const { body: created } = await howdah.call<{ id: string }>('POST', at(service_id, '/replicaSets'), set)
  await howdah.untilStatus(created.id, 'READY')
  await howdah.call('POST', at(service_id, '/enablePooler'))
  const viewNow = async () => (await howdah.call<Service>('GET', at(service_id))).body
  const before = await viewNow()
  await deleteService(service_id)
  for (const path of [at(service_id), at(service_id, '/events'), at(service_id, '/snapshots'), at(created.id)]) {
    expect(await howdah.call('GET', path)).toMatchObject({
      status: 404,
      body: { message: 'no service with that id exists' },
    })
  }
  expect((await howdah.call('DELETE', at(service_id))).status).toBe(404)
  const all = (await howdah.call<Service[]>('GET', howdah.services)).body.map((one) => one.service_id)
  expect(all).not.toContain(service_id)
  const kept = (await listDeleted()).find((one) => one.service_id === service_id)
  expect(kept).toMatchObject({ name: 'slip', region_code: 'local', metadata: { environment: 'DEV' } })
  expect(Date.parse(kept?.kept_until ?? '') - Date.parse(kept?.deleted_at ?? '')).toBe(3600_000)

  const restored = await howdah.call('POST', `${deleted}/${service_id}/restore`)
  expect(restored).toMatchObject({ status: 202, body: { service_id, status: 'RESUMING' } })
  await howdah.untilStatus(service_id, 'READY')
  await howdah.untilStatus(created.id, 'READY')
  expect(await viewNow()).toMatchObject(withoutMeasures(before))
  if (before.replicas)
    await until(async () => rolesOf(await viewNow()) === rolesOf(before), { what: 'it has its nodes' })
  expect(await deletedIds()).not.toContain(service_id)
  expect(await howdah.call('POST', `${deleted}/${service_id}/restore`)).toMatchObject({
    status: 404,
    body: { message: 'no deleted service with that id exists' },
  })
})

test('a stopped service comes back stopped, and a deletion can be undone while it is under way', async () => {
  const { service_id } = await howdah.createService()
  await howdah.call('POST', at(service_id, '/stop'))
  await howdah.untilStatus(service_id, 'PAUSED')
  await deleteService(service_id)
  await howdah.call('POST', `${deleted}/${service_id}/restore`)
  await howdah.untilStatus(service_id, 'PAUSED')
  await howdah.call('POST', at(service_id, '/start'))
  await howdah.untilStatus(service_id, 'READY')
  await howdah.call('DELETE', at(service_id))
  expect((await howdah.call('POST', `${deleted}/${service_id}/restore`)).status).toBe(202)
  await howdah.untilStatus(service_id, 'READY')
})

test('what is purged, what was kept long enough, and what never served is removed for good', async () => {
  const purged = await howdah.createService()
  await deleteService(purged.service_id)
  expect((await howdah.call('POST', `${deleted}/${purged.service_id}/purge`)).status).toBe(204)
  expect(await deletedIds()).not.toContain(purged.service_id)
  expect((await howdah.call('POST', `${deleted}/${purged.service_id}/purge`)).status).toBe(404)
  await until(async () => !(await isInStore(purged.service_id)))

  const old = await howdah.createService()
  await deleteService(old.service_id)
  const db = openStoreOf(howdah)
  await db.query(`update services set kept_until = now() where service_id = $1`, [old.service_id])
  await db.close()
  await until(async () => !(await isInStore(old.service_id)))

  const { body: never } = await howdah.call('POST', howdah.services, { name: 'never', region_code: 'elsewhere' })
  await howdah.call('DELETE', at(never.service_id))
  expect(await deletedIds()).not.toContain(never.service_id)
})

test('a service that the store does not let go keeps no other from being removed', async () => {
  const [held, old] = [await howdah.createService(), await howdah.createService()]
  for (const { service_id } of [held, old]) await deleteService(service_id)
  const db = openStoreOf(howdah)
  await db.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'held by a test'; end $$;
    create trigger held before update on services for each row
      when (old.service_id = '${held.service_id}' and new.kept_until is null) execute function refuse()`)
  // The one that is held comes first.
  const kept_until = `update services set kept_until = now() - make_interval(secs => $2) where service_id = $1`
  await db.query(kept_until, [held.service_id, 60])
  await db.query(kept_until, [old.service_id, 1])
  await until(async () => !(await isInStore(old.service_id)))
  expect(await isInStore(held.service_id)).toBe(true)
  await db.query('drop function refuse cascade')
  await db.close()
})

/** A service that was deleted while it was in a VPC. */
async function deletedInVpc(cidr: string) {
  const vpcs = `/projects/${howdah.project_id}/vpcs`
  const { id } = (await howdah.call<{ id: string }>('POST', vpcs, { cidr, name: 'gone', region_code: 'local' })).body
  const { service_id, endpoint } = await howdah.createService()
  await howdah.call('POST', at(service_id, '/attachToVPC'), { vpc_id: id })
  await howdah.untilStatus(service_id, 'READY')
  await deleteService(service_id)
  return { service_id, endpoint, vpc: `${vpcs}/${id}` }
}

test('a VPC can be deleted under a deleted service, which comes back outside of it', async (context) => {
  await needs(context, howdah, 'vpcs')
  const { service_id, endpoint, vpc } = await deletedInVpc('10.64.7.0/24')
  expect((await howdah.call('DELETE', vpc)).status).toBe(204)
  await howdah.call('POST', `${deleted}/${service_id}/restore`)
  const { body } = await howdah.untilStatus(service_id, 'READY')
  expect(body.endpoint).toEqual(endpoint)
  expect(body).not.toHaveProperty('vpcEndpoint')
})

test('a VPC is not deleted under a service that is just being restored in it', async (context) => {
  await needs(context, howdah, 'vpcs')
  const { service_id, vpc } = await deletedInVpc('10.64.8.0/24')
  const db = openStoreOf(howdah)
  const requests = await db.transaction(async (tx) => {
    await tx.query('select from services where service_id = $1 for update', [service_id])
    const restoring = howdah.call('POST', `${deleted}/${service_id}/restore`)
    await untilWaiting(db, 1)
    const deleting = howdah.call('DELETE', vpc)
    await untilWaiting(db, 2)
    return [restoring, deleting]
  })
  await db.close()
  const [restored, refused] = await Promise.all(requests)
  expect(restored?.status).toBe(202)
  expect(refused).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
  const { body } = await howdah.untilStatus(service_id, 'READY')
  expect(body).toHaveProperty('vpcEndpoint')
})
