// A copy of a service of another region that breaks off again and again, over a fake API server: Kubernetes would give it up in the end, so
// its Cluster is made anew, also by a provider that dies in between.
import { expect, test } from 'vitest'
import { until } from '#test/until.ts'
import { newWanted, settle } from './wanted.ts'
import { namespaceOf, useKubernetes } from './world.ts'

const { newWorld } = useKubernetes()

const origin = {
  endpoint: { host: 'db.example.com', port: 40_000 },
  role: 'howdah_copy_of_this',
  password: 'of the copy',
  ca_pem: 'the authority',
  major: 17,
}

test('a copy that broke off several times is begun anew, from the same place', async () => {
  const { api, open } = await newWorld()
  const deaths = new Set<string>()
  let armed = false
  const effect = (name: string) => {
    if (!armed || deaths.has(name)) return
    deaths.add(name)
    throw new Error(`died at ${name}`)
  }
  const first = await open()
  const fork = await newWanted(first, { source: { service_id: 'parent0000', moment: 'now', origin } })
  const [namespace, name] = [namespaceOf(fork), `s-${fork.service_id}`]
  const clusterNow = () => api.store.find(`/apis/postgresql.cnpg.io/v1/namespaces/${namespace}/clusters/${name}`)
  const secretNow = () => api.store.find(`/api/v1/namespaces/${namespace}/secrets/${name}-copy`)
  const breakOff = () => api.failJob(namespace, name, 'pgbasebackup', ['pg_basebackup: error: connection reset'])
  await first.service.apply(fork)
  const [broken, secret] = [clusterNow(), secretNow()]
  expect(secret?.stringData).toMatchObject({ username: origin.role, password: origin.password })

  for (let times = 0; times < 3; times += 1) breakOff()
  // Kubernetes goes on by itself.
  expect((await settle(first, fork)).state).toBe('serving')
  expect(clusterNow()?.metadata.uid).toBe(broken?.metadata.uid)

  breakOff()
  armed = true
  let provider = await open({ effect })
  // One that died is followed by another.
  const pass = () =>
    provider.service.apply(fork).catch(async () => {
      provider = await open({ effect })
    })
  const words = 'its copy broke off several times; it is begun anew'
  await until(async () => (await pass())?.waiting_for === words, { what: 'the copy is begun anew' })
  await until(async () => (await pass())?.settled, { what: 'it is there' })
  expect([...deaths]).toEqual(['cluster: make again', 'cluster: apply'])
  expect(clusterNow()?.metadata.uid).not.toBe(broken?.metadata.uid)
  expect(clusterNow()?.spec).toEqual(broken?.spec)
  expect(secretNow()).toEqual(secret)

  await settle(first, { ...fork, made: true })
  expect(secretNow()).toBeUndefined()
})
