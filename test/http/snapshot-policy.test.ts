// The schedule of a service's snapshots by the API.
import { expect, test } from 'vitest'
import { openStoreOf } from '#test/database.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { startInRegion } from './region.ts'

const howdah = shared(startInRegion)

test('a service has a schedule of its own, takes and drops snapshots by it, and follows the installation again', async () => {
  const { service_id } = await howdah.createService()
  const at = `${howdah.services}/${service_id}`
  expect(await howdah.call('POST', `${at}/setSnapshotPolicy`, { every: '6h', keep: '12h' })).toMatchObject({
    status: 200,
    body: { message: 'a snapshot is taken every 6h and kept for 12h' },
  })
  expect((await howdah.call('GET', at)).body.snapshot_policy).toEqual({ every: '6h', keep: '12h' })
  const kinds = async () =>
    (await howdah.call<{ kind: string; status: string }[]>('GET', `${at}/snapshots`)).body
      .filter(({ status }) => status === 'complete')
      .map(({ kind }) => kind)
  await until(async () => (await kinds()).length === 1)
  const db = openStoreOf(howdah)
  const age = async (hours: number) => {
    await db.query(
      `update snapshots set requested_at = requested_at - make_interval(hours => $2) where service_id = $1`,
      [service_id, hours],
    )
    await howdah.call('POST', `${at}/setSnapshotPolicy`, { every: '6h', keep: '12h' })
  }
  await age(7)
  await until(async () => (await kinds()).join() === 'scheduled,initial')
  await age(7)
  await until(async () => (await kinds()).join() === 'scheduled,scheduled')
  await db.close()
  const again = await howdah.call('POST', `${at}/setSnapshotPolicy`, {})
  expect(again.body).toEqual({ message: 'snapshots are taken as the installation says' })
  expect((await howdah.call('GET', at)).body).not.toHaveProperty('snapshot_policy')
})

test('a schedule that makes no sense is refused', async () => {
  const { service_id } = await howdah.createService()
  const refused = async (body: object) =>
    (await howdah.call('POST', `${howdah.services}/${service_id}/setSnapshotPolicy`, body)).body.details
  expect(await refused({ every: 'often', keep: '7d' })).toBe('/every: must be a time such as 15m, 6h, 7d or 2w')
  expect(await refused({ every: '6h' })).toBe('/keep: is required with /every')
  expect(await refused({ every: '6h', keep: '1h' })).toBe('/keep: must be from /every, which is 6h, to 52w')
})
