// Snapshots of the Kubernetes provider over a fake API server and a fake object store: taken, removed with the WAL that only they
// needed, forked, and gone with their service.
import { expect, test } from 'vitest'
import type { Moment, Provider, WantedService } from '#providers/provider.ts'
import { until } from '#test/until.ts'
import { newWanted, settle } from './wanted.ts'
import { namespaceOf, useKubernetes } from './world.ts'

const { newWorld } = useKubernetes()

const applyUntil = (provider: Provider, wanted: WantedService, what: string, isSo: (seen: Seen) => boolean) =>
  until(
    async () => {
      const observed = await provider.service.apply(wanted)
      return isSo(observed) && observed
    },
    { what },
  )
type Seen = Awaited<ReturnType<Provider['service']['apply']>>

async function withSnapshots(provider: Provider, ids: readonly string[]) {
  const wanted = await newWanted(provider)
  await settle(provider, wanted)
  for (const snapshot_id of ids) {
    wanted.snapshots = [...wanted.snapshots, { snapshot_id, deleted: false }]
    await applyUntil(provider, wanted, 'it is taken', ({ snapshots }) =>
      snapshots.every(({ state }) => state === 'complete'),
    )
  }
  return wanted
}

test('a snapshot that is not wanted any more leaves the store, with the WAL that only it needed', async () => {
  const { bucket, open } = await newWorld()
  const provider = await open()
  const wanted = await withSnapshots(provider, ['snap000001', 'snap000002'])
  const [first, second] = [...bucket.objects.keys()].filter((key) => key.includes('/wals/')).toSorted()
  const { snapshots, restorable } = await provider.service.apply(wanted)
  expect(snapshots).toMatchObject([{ size_bytes: 1234 }, { size_bytes: 1234 }])
  expect(restorable).toMatchObject({ from: snapshots[0] && 'taken_at' in snapshots[0] && snapshots[0].taken_at })
  const fewer = {
    ...wanted,
    snapshots: [
      { snapshot_id: 'snap000001', deleted: true },
      { snapshot_id: 'snap000002', deleted: false },
    ],
  }
  await applyUntil(provider, fewer, 'one is gone', (seen) => seen.snapshots[0]?.state === 'absent')
  expect(bucket.objects.has(first ?? '')).toBe(false)
  expect(bucket.objects.has(second ?? '')).toBe(true)
  expect([...bucket.objects.keys()].filter((key) => key.endsWith('backup.info'))).toHaveLength(1)
  await applyUntil(provider, { ...fewer, deleted: true }, 'it is removed', ({ settled }) => settled)
  expect([...bucket.objects.keys()]).toEqual([])
})

test.each([
  ['refuses', 'the object store of the region answered 503 (SlowDown)'],
  ['breaks off', 'the object store of the region cannot be reached'],
] as const)('a store that %s delays snapshots and removals, and nothing else', async (how, words) => {
  const { bucket, open } = await newWorld()
  const provider = await open()
  const wanted = await newWanted(provider)
  await settle(provider, wanted)
  const mend = bucket.break(how)
  wanted.snapshots = [{ snapshot_id: 'snap000003', deleted: false }]
  for (let pass = 0; pass < 5; pass += 1) {
    const observed = await provider.service.apply(wanted)
    expect(observed).toMatchObject({ state: 'serving', settled: true, snapshots: [{ state: 'taking' }] })
  }
  const removed = { ...wanted, deleted: true }
  await applyUntil(provider, removed, 'the removal waits', ({ waiting_for }) => waiting_for === words)
  mend()
  expect((await settle(provider, removed)).state).toBe('absent')
  expect([...bucket.objects.keys()]).toEqual([])
})

test('a service that serves is snapshotted also while a replica of it has no place', async () => {
  const { bucket, operator, open } = await newWorld()
  const provider = await open()
  const wanted = await newWanted(provider)
  await settle(provider, wanted)
  operator.fill()
  const lacking: WantedService = {
    ...wanted,
    generation: 2,
    ha: { replica_count: 1, sync_replica_count: 0, switchovers: 0 },
    snapshots: [{ snapshot_id: 'snap000006', deleted: false }],
  }
  const seen = await applyUntil(provider, lacking, 'it is taken', ({ snapshots: [one] }) => one?.state === 'complete')
  expect(seen).toMatchObject({ settled: false, waiting_for: expect.stringContaining('no node of the region') })
  expect(seen.restorable).not.toBe('none')
  const stopping: WantedService = { ...lacking, generation: 3, power: 'off' }
  stopping.snapshots = [...lacking.snapshots, { snapshot_id: 'snap000007', deleted: false }]
  await applyUntil(provider, stopping, 'it stops', ({ state }) => state === 'stopped')
  expect([...bucket.objects.keys()].filter((key) => key.endsWith('backup.info'))).toHaveLength(1)
})

test('a service of which a change is refused is seen as it is, and snapshotted', async () => {
  const { api, operator, open } = await newWorld()
  const provider = await open()
  const wanted = await newWanted(provider)
  await settle(provider, wanted)
  api.refuse(/\/clusters\//)
  const resized: WantedService = {
    ...wanted,
    generation: 2,
    size: { cpu_millis: 1000, memory_gbs: 4 },
    snapshots: [{ snapshot_id: 'snap000010', deleted: false }],
  }
  const seen = await applyUntil(provider, resized, 'it is taken', ({ snapshots: [one] }) => one?.state === 'complete')
  const waiting_for = 'region test refused an object: denied by a webhook'
  expect(seen).toMatchObject({ state: 'serving', settled: false, waiting_for, in_progress: false })
  operator.crash(namespaceOf(wanted), `s-${wanted.service_id}-1`)
  await applyUntil(provider, resized, 'its end is seen', ({ state }) => state === 'not_serving')
})

test('a service whose Cluster was deleted past the API is forked from the store', async () => {
  const { api, open } = await newWorld()
  const provider = await open()
  const parent = await withSnapshots(provider, ['snap000004'])
  const namespace = namespaceOf(parent)
  api.store.remove(`/apis/postgresql.cnpg.io/v1/namespaces/${namespace}/clusters/s-${parent.service_id}`)
  const lost = await applyUntil(provider, { ...parent, made: true }, 'it is lost', ({ state }) => state === 'absent')
  expect(lost.waiting_for).toMatch(/; fork its last snapshot \(LAST_SNAPSHOT\), then delete the service$/)
  const images = [17, 18].map((major) => ({ major, image: `postgresql:${major}` }))
  api.store.merge('/apis/postgresql.cnpg.io/v1/clusterimagecatalogs/rig', { spec: { images } })
  const later = await open()
  const source = { service_id: parent.service_id, moment: { snapshot_id: 'snap000004' } }
  const [fork, other] = [await newWanted(later, { source }), await newWanted(later)]
  const majorOf = async (wanted: WantedService) => {
    expect((await settle(later, wanted)).state).toBe('serving')
    const path = `/apis/postgresql.cnpg.io/v1/namespaces/${namespaceOf(wanted)}/clusters/s-${wanted.service_id}`
    return api.store.find(path)?.spec?.['imageCatalogRef']
  }
  expect(await majorOf(other)).toMatchObject({ major: 18 })
  expect(await majorOf(fork)).toMatchObject({ major: 17 })
})

test('a copy that is on its way out of the store is no beginning of a fork', async () => {
  const { api, open } = await newWorld()
  const provider = await open()
  const parent = await withSnapshots(provider, ['snap000008', 'snap000009'])
  const [first, second] = parent.snapshots.map(({ snapshot_id }) => {
    const path = `/apis/postgresql.cnpg.io/v1/namespaces/${namespaceOf(parent)}/backups/b-${snapshot_id}`
    return api.store.find(path)?.status?.['backupId']
  })
  const effect = (name: string) => {
    if (name === 'store: remove WAL') throw new Error('died')
  }
  const dying = await open({ effect })
  const [kept, given_up] = parent.snapshots
  const fewer = { ...parent, snapshots: [kept, given_up && { ...given_up, deleted: true }].flatMap((one) => one ?? []) }
  await expect(dying.service.apply(fewer)).rejects.toThrow('died')
  const source = { service_id: parent.service_id, moment: { at: new Date().toISOString() } }
  const fork = await newWanted(provider, { source })
  await settle(provider, fork)
  const path = `/apis/postgresql.cnpg.io/v1/namespaces/${namespaceOf(fork)}/clusters/s-${fork.service_id}`
  const bootstrap = { recovery: { recoveryTarget: { backupID: first } } }
  expect(api.store.find(path)?.spec).toMatchObject({ bootstrap })
  expect(second).not.toBe(first)
})

test('the end of an archive before the moment is told by the failed job, and the recovery goes up to there', async () => {
  const { api, open } = await newWorld()
  const provider = await open()
  const parent = await withSnapshots(provider, ['snap000005'])
  const at = new Date(Date.now() + 60_000).toISOString()
  const moment: Moment = { at }
  const fork = await newWanted(provider, { source: { service_id: parent.service_id, moment } })
  const namespace = namespaceOf(parent)
  const recovery = () => {
    const cluster = api.store.find(`/apis/postgresql.cnpg.io/v1/namespaces/${namespace}/clusters/s-${fork.service_id}`)
    const { bootstrap } = (cluster?.spec ?? {}) as { bootstrap?: { recovery?: { recoveryTarget?: object } } }
    return bootstrap?.recovery?.recoveryTarget
  }
  await provider.service.apply(fork)
  expect(recovery()).toMatchObject({ targetTime: at })
  api.failJob(namespace, `s-${fork.service_id}`, 'full-recovery', [
    'redo done at 0/50000D8 system usage',
    'recovery ended before configured recovery target was reached',
  ])
  await applyUntil(
    provider,
    fork,
    'it is made again',
    () => recovery() !== undefined && 'targetLSN' in (recovery() ?? {}),
  )
  expect(recovery()).toMatchObject({ targetLSN: '0/50000D8' })
  expect((await settle(provider, fork)).state).toBe('serving')
})
