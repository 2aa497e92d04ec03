// The making of a service, a copy of another region's among them, that fails again and again, over a fake API server: Kubernetes would give
// it up in the end, and the operator wait for ever; so its Cluster is made anew, also by a provider that dies in between.
import { expect, test } from 'vitest'
import type { Provider, WantedReplicaSet, WantedService } from '#providers/provider.ts'
import { until } from '#test/until.ts'
import { wantedSetAt } from '#test/provider/wanted.ts'
import { newTestId, newWanted, settle } from './wanted.ts'
import { namespaceOf, useKubernetes } from './world.ts'

const { newWorld } = useKubernetes()

const origin = {
  endpoint: { host: 'db.example.com', port: 40_000 },
  role: 'howdah_copy_of_this',
  password: 'of the copy',
  ca_pem: 'the authority',
  major: 17,
}
const copied: Partial<WantedService> = { source: { service_id: 'parent0000', moment: 'now', origin } }

test.each([
  { what: 'its copy', job: 'pgbasebackup', parts: copied },
  { what: 'the making of its database', job: 'initdb', parts: {} },
] as const)('where $what failed several times it is begun anew, from the same place', async ({ what, job, parts }) => {
  const { api, operator, open } = await newWorld()
  const deaths = new Set<string>()
  let armed = false
  const effect = (name: string) => {
    if (!armed || deaths.has(name)) return
    deaths.add(name)
    throw new Error(`died at ${name}`)
  }
  const goOn = operator.hold()
  const first = await open()
  const wanted = await newWanted(first, parts)
  const [namespace, name] = [namespaceOf(wanted), `s-${wanted.service_id}`]
  const clusterNow = () => api.store.find(`/apis/postgresql.cnpg.io/v1/namespaces/${namespace}/clusters/${name}`)
  const secretNow = () => api.store.find(`/api/v1/namespaces/${namespace}/secrets/${name}-copy`)
  const fail = () => api.failJob(namespace, name, job, ['{"level":"error","error":"connection reset"}'])
  await first.service.apply(wanted)
  const [broken, secret] = [clusterNow(), secretNow()]
  expect(secret?.stringData).toEqual(
    'source' in parts ? { username: origin.role, password: origin.password, 'ca.crt': origin.ca_pem } : undefined,
  )

  for (let times = 0; times < 3; times += 1) fail()
  // Kubernetes goes on by itself.
  const tried_again = `${what} failed (connection reset); it is tried again`
  await until(async () => (await first.service.apply(wanted)).waiting_for === tried_again, { what: 'it is told' })
  expect(clusterNow()?.metadata.uid).toBe(broken?.metadata.uid)

  fail()
  armed = true
  let provider = await open({ effect })
  // One that died is followed by another.
  const pass = () =>
    provider.service.apply(wanted).catch(async () => {
      provider = await open({ effect })
    })
  const words = `${what} failed several times; it is begun anew`
  await until(async () => (await pass())?.waiting_for === words, { what: 'it is begun anew' })
  goOn()
  await until(async () => (await pass())?.settled, { what: 'it is there' })
  expect([...deaths]).toEqual(['cluster: make again', 'cluster: apply'])
  expect(clusterNow()?.metadata.uid).not.toBe(broken?.metadata.uid)
  expect(clusterNow()?.spec).toEqual(broken?.spec)
  expect(secretNow()).toEqual(secret)

  // What failed before it was there does not count any more.
  const there = clusterNow()?.metadata.uid
  for (let times = 0; times < 4; times += 1) fail()
  await settle(first, wanted)
  expect(clusterNow()?.metadata.uid).toBe(there)

  await settle(first, { ...wanted, made: true })
  expect(secretNow()).toBeUndefined()
})

async function newSet(provider: Provider, service: WantedService): Promise<WantedReplicaSet> {
  const { home } = await newWanted(provider)
  return wantedSetAt(home, service, { replica_set_id: newTestId() })
}

test('a replica set of which the copy failed several times is begun anew', async () => {
  const { api, operator, open } = await newWorld()
  const provider = await open()
  const service = await newWanted(provider)
  await settle(provider, service)
  const goOn = operator.hold()
  const set = await newSet(provider, service)
  const apply = () => provider.replica_set.apply(set)
  await apply()
  const [namespace, name] = [namespaceOf(service), `r-${set.replica_set_id}`]
  for (let times = 0; times < 4; times += 1) api.failJob(namespace, name, 'pgbasebackup', [])
  const words = 'its copy failed several times; it is begun anew'
  await until(async () => (await apply()).waiting_for === words, { what: 'it is begun anew' })
  goOn()
  await until(async () => (await apply()).settled, { what: 'it is there' })
})

test('a replica set of which a change is refused is seen as it is', async () => {
  const { api, operator, open } = await newWorld()
  const provider = await open()
  const service = await newWanted(provider)
  await settle(provider, service)
  const set = await newSet(provider, service)
  await until(async () => (await provider.replica_set.apply(set)).settled, { what: 'it is there' })
  api.refuse(/\/clusters\//)
  const resize = () => provider.replica_set.apply({ ...set, generation: 2, size: { cpu_millis: 1000, memory_gbs: 4 } })
  const waiting_for = 'region test refused an object: denied by a webhook'
  expect(await resize()).toMatchObject({ state: 'serving', settled: false, waiting_for })
  operator.crash(namespaceOf(service), `r-${set.replica_set_id}-1`)
  await until(async () => (await resize()).state === 'not_serving', { what: 'its end is seen' })
})
