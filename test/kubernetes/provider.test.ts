// The Kubernetes provider over a fake API server: the verbs of a service, a death at every effect of each, and the faults of a cluster.
import { expect, test } from 'vitest'
import type { Provider, WantedService } from '#providers/provider.ts'
import { verifierOf } from '#test/provider/wanted.ts'
import { until } from '#test/until.ts'
import { wantedSetAt } from '#test/provider/wanted.ts'
import { newWanted, settle } from './wanted.ts'
import { namespaceOf, useKubernetes } from './world.ts'

const { newWorld } = useKubernetes()
const second_password = verifierOf('second password')

test('create, resize, password, replicas, switchover, stop, start and delete', async () => {
  const { api, open } = await newWorld()
  const provider = await open()
  const wanted = await newWanted(provider)
  expect(await settle(provider, wanted)).toMatchObject({ state: 'serving', postgres_version: '17' })
  const asked = api.asked.length
  expect(await provider.service.apply(wanted)).toMatchObject({ settled: true, events: [] })
  expect(api.asked.slice(asked)).toEqual([])
  for (const [parts, state] of [
    [{ size: { cpu_millis: 1000, memory_gbs: 4 } }, 'serving'],
    [{ password_verifier: second_password }, 'serving'],
    [{ ha: { replica_count: 2, sync_replica_count: 1, switchovers: 0 } }, 'serving'],
    [{ ha: { replica_count: 2, sync_replica_count: 1, switchovers: 1 } }, 'serving'],
    [{ ha: { replica_count: 0, sync_replica_count: 0, switchovers: 1 } }, 'serving'],
    [{ power: 'off' }, 'stopped'],
    [{ power: 'on' }, 'serving'],
  ] as const) {
    Object.assign(wanted, parts, { generation: wanted.generation + 1 })
    expect(await settle(provider, wanted, JSON.stringify(parts))).toMatchObject({ state })
  }
  expect(await provider.service.list()).toEqual([{ id: wanted.service_id, down: false }])
  expect((await settle(provider, { ...wanted, deleted: true })).state).toBe('absent')
  expect(await provider.service.list()).toEqual([])
  await until(() => leftOf(api.store.paths()).length === 0, { what: 'nothing is left' })
})

const leftOf = (paths: readonly string[]) => paths.filter((path) => path.includes('howdah-'))

test('no clear text and nothing of a password is in what is made', async () => {
  const { api, open } = await newWorld()
  const provider = await open()
  const wanted = await newWanted(provider)
  await settle(provider, wanted)
  const namespace = namespaceOf(wanted)
  const secret = api.store.find(`/api/v1/namespaces/${namespace}/secrets/s-${wanted.service_id}-admin`)
  expect(secret?.stringData).toEqual({ username: 'tsdbadmin', password: wanted.password_verifier })
})

type Verb = { what: string; before?: Partial<WantedService>; parts: Partial<WantedService> }
const verbs: readonly Verb[] = [
  { what: 'create', parts: {} },
  { what: 'replicas', parts: { ha: { replica_count: 1, sync_replica_count: 1, switchovers: 0 } } },
  {
    what: 'a switchover',
    before: { ha: { replica_count: 1, sync_replica_count: 0, switchovers: 0 } },
    parts: { ha: { replica_count: 1, sync_replica_count: 0, switchovers: 1 } },
  },
  { what: 'stop', before: {}, parts: { power: 'off' } },
  { what: 'delete', before: {}, parts: { deleted: true } },
]

test.each(verbs)('a death at every effect of $what changes nothing about its end', async ({ before, parts }) => {
  const { api, open } = await newWorld()
  const seen = new Set<string>()
  let armed = false
  const effect = (name: string) => {
    if (!armed || seen.has(name)) return
    seen.add(name)
    throw new Error(`died at ${name}`)
  }
  const first = await open()
  const wanted = await newWanted(first, before)
  if (before) await settle(first, wanted)
  armed = true
  // Each provider dies at the first effect that was not met before, and another one goes on.
  const goal = { ...wanted, ...parts, generation: 2 }
  for (let deaths = -1; deaths < seen.size;) {
    deaths = seen.size
    const provider = await open({ effect })
    await settleOrDie(provider, goal)
  }
  expect(seen.size).toBeGreaterThan(0)
  const observed = await settle(first, goal)
  expect(observed.state).toBe(goal.deleted ? 'absent' : goal.power === 'off' ? 'stopped' : 'serving')
  if (goal.deleted) await until(() => leftOf(api.store.paths()).length === 0, { what: 'nothing is left' })
  if (goal.ha?.switchovers) {
    const [cluster] = api.store.list('/apis/postgresql.cnpg.io/v1/clusters')
    expect(cluster?.status?.['currentPrimary']).toBe(`s-${goal.service_id}-2`)
  }
})

/** A pass that dies ends this provider's work. */
async function settleOrDie(provider: Provider, wanted: WantedService): Promise<void> {
  await until(
    async () => {
      const died = (error: unknown) => error instanceof Error && error.message.startsWith('died at')
      const observed = await provider.service.apply(wanted).catch((error: unknown) => {
        if (died(error)) return 'died' as const
        throw error
      })
      return observed === 'died' || observed.settled
    },
    { what: 'it settles or dies' },
  )
}

test('while the API server is silent nothing is declared dead, and afterwards all is well', async () => {
  const { api, open } = await newWorld()
  const provider = await open()
  const wanted = await newWanted(provider)
  await settle(provider, wanted)
  const asked = api.asked.length
  const goOn = api.pause()
  const changed = { ...wanted, generation: 2, password_verifier: second_password }
  const observed = await provider.service.apply(changed)
  expect(observed).toMatchObject({ state: 'unknown', settled: false })
  expect(observed.waiting_for).toMatch(/region test does not answer .*; the databases go on running/)
  goOn()
  expect((await settle(provider, changed)).state).toBe('serving')
  // A watch that had nothing to tell all the while has gone on.
  expect(api.asked.slice(asked)).not.toContain('GET /apis/postgresql.cnpg.io/v1/backups')
})

test('a watch that is cut, or whose place is not known any more, goes on with what it missed', async () => {
  const { api, operator, open } = await newWorld()
  const provider = await open()
  const wanted = await newWanted(provider)
  await settle(provider, wanted)
  api.store.compact()
  api.cutWatches()
  operator.crash(namespaceOf(wanted), `s-${wanted.service_id}-1`)
  expect((await settle(provider, { ...wanted, generation: 2 })).state).toBe('serving')
})

test.each(['namespace', 'Cluster'])(
  'a %s that is deleted past the API is told as a loss, and never made again',
  async (what) => {
    const { api, open } = await newWorld()
    const provider = await open()
    const wanted = await newWanted(provider)
    await settle(provider, wanted)
    const namespace = namespaceOf(wanted)
    const cluster = `/apis/postgresql.cnpg.io/v1/namespaces/${namespace}/clusters/s-${wanted.service_id}`
    api.store.remove(what === 'Cluster' ? cluster : `/api/v1/namespaces/${namespace}`)
    const made = { ...wanted, made: true }
    await until(async () => (await provider.service.list()).length === 0, { what: 'it is gone' })
    const sentence =
      /^its Cluster was deleted in region test itself, past this API, and its data with it; fork its last/
    expect(await provider.service.apply(made)).toMatchObject({
      state: 'absent',
      settled: false,
      waiting_for: expect.stringMatching(sentence),
    })
    expect(api.store.find(cluster)).toBeUndefined()
    expect((await settle(provider, { ...made, deleted: true })).state).toBe('absent')
    await until(() => leftOf(api.store.paths()).length === 0, { what: 'nothing is left' })
  },
)

test('a node port that another service has is told in the words of the cluster', async () => {
  const { open } = await newWorld()
  const provider = await open()
  const wanted = await newWanted(provider)
  await settle(provider, wanted)
  const other = await newWanted(provider, { home: wanted.home, reach: wanted.reach })
  const { settled, waiting_for } = await provider.service.apply(other)
  expect({ settled, waiting_for }).toEqual({
    settled: false,
    waiting_for: 'region test refused an object: provided port is already allocated',
  })
})

test('a first start that fails is told in its own words', async () => {
  const { api, operator, open } = await newWorld()
  await operator.stop()
  const provider = await open()
  const wanted = await newWanted(provider)
  await provider.service.apply(wanted)
  api.failJob(namespaceOf(wanted), `s-${wanted.service_id}`, 'initdb', [
    '{"level":"info","msg":"Creating new data directory"}',
    String.raw`{"level":"error","msg":"Error while bootstrapping data directory","error":"extension \"vector\" is not\n available"}`,
    'not of the operator',
  ])
  const waiting_for = 'the making of its database failed (extension "vector" is not available); it is tried again'
  await until(async () => (await provider.service.apply(wanted)).waiting_for === waiting_for, { what: 'it is told' })
})

test('a fork has the version of its parent, also when the catalog of the region has got a newer one', async () => {
  const { api, open } = await newWorld()
  const first = await open()
  const parent = await newWanted(first)
  await settle(first, parent)
  const catalog = '/apis/postgresql.cnpg.io/v1/clusterimagecatalogs/rig'
  const images = [17, 18].map((major) => ({ major, image: `postgresql:${major}` }))
  api.store.merge(catalog, { spec: { images } })
  const provider = await open()
  await until(() => provider.facts().postgres_versions[0] === '18', { what: 'the catalog is read' })
  const source = { service_id: parent.service_id, moment: 'now' as const }
  const [fork, other] = [await newWanted(provider, { source }), await newWanted(provider)]
  for (const [wanted, major] of [
    [fork, 17],
    [other, 18],
  ] as const) {
    await settle(provider, wanted)
    const path = `/apis/postgresql.cnpg.io/v1/namespaces/${namespaceOf(wanted)}/clusters/s-${wanted.service_id}`
    expect(api.store.find(path)?.spec?.['imageCatalogRef']).toMatchObject({ major })
  }
  api.store.merge(catalog, { spec: { images: images.slice(1) } })
  const last = await open()
  await until(() => last.facts().postgres_versions.length === 1, { what: 'the catalog is read again' })
  expect((await last.service.apply(await newWanted(last, { source }))).waiting_for).toBe(
    'region test has no image of PostgreSQL 17, which its parent has; add one to the image catalog of the region',
  )
})

test('volumes that are there stay as large as they are when the region gives less than it did', async () => {
  const { api, open } = await newWorld()
  const before = await open({ storage_gbs: 3 })
  const [wanted, home] = [await newWanted(before), (await newWanted(before)).home]
  const set = wantedSetAt(home, wanted, { replica_set_id: 'set0000000' })
  await settle(before, wanted)
  const settleSet = (provider: Provider, service: WantedService, nodes: number) =>
    until(async () => (await provider.replica_set.apply({ ...set, nodes, service })).settled, {
      what: 'the set settles',
    })
  await settleSet(before, wanted, 1)
  const provider = await open({ storage_gbs: 1 })
  const resized: WantedService = { ...wanted, generation: 2, size: { cpu_millis: 1000, memory_gbs: 4 } }
  await settle(provider, resized)
  await settleSet(provider, resized, 2)
  const volumes = api.store.list('/apis/postgresql.cnpg.io/v1/clusters').map(({ spec }) => spec?.['storage'])
  expect(volumes).toEqual([{ size: '3Gi' }, { size: '3Gi' }])
  const measured = await provider.metrics([{ service_id: wanted.service_id }])
  expect(measured.get(wanted.service_id)?.disk_quota_bytes).toBe(3 * 2 ** 30)
})

test('the namespace of a project stays while it has another service', async () => {
  const { api, open } = await newWorld()
  const provider = await open()
  const [one, other] = [await newWanted(provider), await newWanted(provider)]
  await Promise.all([settle(provider, one), settle(provider, other)])
  await settle(provider, { ...one, deleted: true })
  expect(api.store.find(`/api/v1/namespaces/${namespaceOf(one)}`)).toBeDefined()
  expect((await settle(provider, other)).state).toBe('serving')
})

test('a server that knows an older generation changes nothing while the metadata store is unreachable', async () => {
  const { open } = await newWorld()
  const [one, other] = [await open(), await open()]
  const wanted = await newWanted(one)
  await settle(one, wanted)
  const stopped = { ...wanted, generation: 2, power: 'off' as const }
  await settle(other, stopped)
  await until(async () => (await one.heal(wanted.service_id))?.state === 'stopped', { what: 'the other one sees it' })
  expect(await other.service.apply(stopped)).toMatchObject({ state: 'stopped', settled: true })
})
