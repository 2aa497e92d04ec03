// Replicas and the pooler as requests see them: what is answered, what is refused, and with which words.
import { describe, expect, test } from 'vitest'
import type { Service } from '#contract/service.ts'
import { shared } from '#test/shared.ts'
import { startInRegion } from './region.ts'
import { openReadyRows } from './ready-services.ts'

const howdah = shared(startInRegion)
const rows = shared(() => openReadyRows(howdah))

const post = async (service: string | Promise<string>, verb: string, body?: unknown) =>
  howdah.call('POST', `${howdah.services}/${await service}/${verb}`, body)

const replicas = (replica_count: number, sync_replica_count: number) =>
  rows.newService(`replica_count = ${replica_count}, sync_replica_count = ${sync_replica_count}`)

describe('setHA', () => {
  test.each([
    { before: [0, 0], body: { replica_count: 2, sync_replica_count: 1 }, after: [2, 1] },
    { before: [2, 1], body: { replica_count: 5 }, after: [5, 1] },
    { before: [2, 1], body: { sync_replica_count: 2 }, after: [2, 2] },
    { before: [2, 1], body: { sync_replica_count: 0 }, after: [2, 0] },
    { before: [2, 1], body: { replica_count: 0 }, after: [0, 0] },
    { before: [2, 1], body: { sync_replica_count: 3 }, after: [3, 3] },
    { before: [5, 5], body: { replica_count: 0, sync_replica_count: 0 }, after: [0, 0] },
  ])('$body on $before is answered as CONFIGURING with $after', async ({ before, body, after }) => {
    const answer = await post(replicas(before[0] ?? 0, before[1] ?? 0), 'setHA', body)
    const ha_replicas = { replica_count: after[0], sync_replica_count: after[1] }
    expect(answer).toMatchObject({ status: 202, body: { status: 'CONFIGURING', ha_replicas } })
  })

  test.each([
    [{ replica_count: 1, sync_replica_count: 2 }, 'they are 2 and 1'],
    [{ replica_count: 6 }, '/replica_count: must be at most 5'],
    [{ replica_count: -1, sync_replica_count: 1.5 }, '/sync_replica_count: must be an integer'],
    [{ replica_count: '1' }, '/replica_count: must be an integer'],
    [{}, '/replica_count: is required, unless /sync_replica_count is there'],
  ])('%j is refused on 2 replicas, 1 of them synchronous', async (body, words) => {
    const answer = await post(replicas(2, 1), 'setHA', body)
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
    expect(answer.body.details).toContain(words)
  })
})

describe('a switchover', () => {
  test('is answered as CONFIGURING, and each request counts', async () => {
    const service_id = await replicas(1, 0)
    expect(await post(service_id, 'switchover')).toMatchObject({ status: 202, body: { status: 'CONFIGURING' } })
    const [row] = await rows.db.query(`select switchovers from services where service_id = $1`, [service_id])
    expect(row).toEqual({ switchovers: 1 })
  })

  test('needs a replica', async () => {
    const message = 'the service has no replica that could take over; add one with setHA'
    expect(await post(replicas(0, 0), 'switchover')).toMatchObject({
      status: 400,
      body: { code: 'WRONG_STATE', message },
    })
  })
})

describe('the pooler', () => {
  const pooled = () => rows.newService(`pooler = true`)

  test('is shown with its endpoint while it is enabled', async () => {
    const { body } = await howdah.call('GET', `${howdah.services}/${await pooled()}`)
    const endpoint = { host: 'localhost', port: body.endpoint.port + 1 }
    expect(body.connection_pooler).toEqual({ endpoint, max_client_connections: 1743, pool_size: 83 })
    const without = await howdah.call('GET', `${howdah.services}/${await rows.newService()}`)
    expect(without.body).not.toHaveProperty('connection_pooler')
  })

  test('that is enabled or disabled already is a conflict', async () => {
    const enabled = { code: 'CONFLICT', message: 'the pooler is already enabled' }
    expect(await post(pooled(), 'enablePooler')).toMatchObject({ status: 409, body: enabled })
    const disabled = { code: 'CONFLICT', message: 'the pooler is already disabled' }
    expect(await post(rows.newService(), 'disablePooler')).toMatchObject({ status: 409, body: disabled })
  })
})

test('the list shows replicas, poolers and replica sets like the single view', async () => {
  const service_id = await replicas(3, 2)
  const set = await rows.newSet(service_id, 'pooler = true')
  const single = await howdah.call('GET', `${howdah.services}/${service_id}`)
  expect(single.body.read_replica_sets).toMatchObject([{ id: set, status: 'active', nodes: 2 }])
  const { body } = await howdah.call<Service[]>('GET', howdah.services)
  expect(body.find((one) => one.service_id === service_id)).toEqual(single.body)
})
