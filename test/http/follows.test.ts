// What a 202 of a snapshot is followed by is what the contract says: a snapshot that was taken is complete in the list, and one that was
// deleted is in no list, and 404.
import { beforeAll, expect, test } from 'vitest'
import { api } from '#contract/api.ts'
import { type Client, newClient } from '#contract/client.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { startInRegion } from './region.ts'

const howdah = shared(startInRegion)
let client: Client

beforeAll(async () => {
  client = newClient({ base_url: howdah.server.api_url, token: howdah.token })
})

test('a snapshot is taken until it is complete, and deleted until it is gone', async () => {
  expect([api.takeSnapshot.follows, api.deleteSnapshot.follows]).toEqual(['snapshot', 'gone'])
  const { service_id } = await howdah.createService()
  const at = { project_id: howdah.project_id, service_id }
  const { id: snapshot_id } = await client.takeSnapshot(at)
  const find = async () => (await client.listSnapshots(at)).find(({ id }) => id === snapshot_id)
  await until(async () => (await find())?.status === 'complete')
  await client.deleteSnapshot({ ...at, snapshot_id })
  await until(async () => (await find()) === undefined)
  await expect(client.deleteSnapshot({ ...at, snapshot_id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
})
