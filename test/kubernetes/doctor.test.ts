// What the doctor of a Kubernetes region says of a cell, over a fake API server: each lack with what to do.
import { expect, test } from 'vitest'
import { regionFacts } from '#cli/region-facts.ts'
import { examineCell } from '#providers/kubernetes/doctor.ts'
import { useKubernetes } from './world.ts'

const { newWorld } = useKubernetes()

const operatorOf = (version: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    ...named('operator', 'kube-system'),
    labels: { 'app.kubernetes.io/name': 'cloudnative-pg' },
  },
  spec: { template: { spec: { containers: [{ image: `localhost:5000/cloudnative-pg:${version}@sha256:00` }] } } },
})
const default_class = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { ...named('fast'), annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
}
const serviceAt = (nodePort: number) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: named('shop', 'kube-system'),
  spec: { selector: { app: 'shop' }, ports: [{ nodePort }] },
})
const deployments = '/apis/apps/v1/namespaces/kube-system/deployments'
const classes = '/apis/storage.k8s.io/v1/storageclasses'

function named(name: string, namespace?: string) {
  const nothing = { uid: '', resourceVersion: '', generation: 0, labels: {}, annotations: {} }
  return { name, ...(namespace && { namespace }), ...nothing }
}

test('a cell that has all is well, and what another one lacks is named with what to do', async () => {
  const { api, settings } = await newWorld()
  const of_cell = { region: 'test', installation_id: undefined }
  api.store.apply(`${deployments}/operator`, operatorOf('1.30.0'))
  api.store.apply(`${classes}/fast`, default_class)
  expect((await examineCell({ ...of_cell, settings })).lacks).toEqual([])

  api.store.apply(`${deployments}/operator`, operatorOf('1.27.1'))
  api.store.remove(`${classes}/fast`)
  api.store.remove('/apis/postgresql.cnpg.io/v1/clusterimagecatalogs/rig')
  api.store.apply('/api/v1/namespaces/kube-system/services/shop', serviceAt(85))
  api.denied.add('delete clusters').add('watch pods')
  const small = {
    host: '127.0.0.1',
    node_ports: { first: 80, last: 90 },
    storage_gbs: 1,
    catalog: 'rig',
    extensions: [],
  }
  const other = { ...small, kubeconfig: api.kubeconfig }
  expect((await examineCell({ ...of_cell, settings: other })).lacks).toEqual([
    'the CloudNativePG operator of region test is 1.27.1; it must be 1.28 or newer',
    "Howdah's account in region test may not: watch pods, delete clusters; apply deploy/kubernetes/rbac.yaml",
    expect.stringMatching(/^region test has no image catalog rig; make one such as \{"apiVersion"/),
    'region test has no default storage class; name one with storage_class',
    'node_ports of region test are those of other Services too: kube-system/shop (85); name others',
  ])
})

test('howdah doctor tells of every region in a cluster what it lacks and what it does not offer, also of one that cannot be reached', async () => {
  const { api } = await newWorld()
  api.store.apply(`${classes}/fast`, default_class)
  const rowOf = (region_code: string, kubeconfig: string) =>
    ({
      region_code,
      provider: 'kubernetes',
      members: { kubeconfig, host: '127.0.0.1', catalog: 'rig' },
      near: '/',
    }) as const
  const regions = [
    { region_code: 'here', provider: 'local' } as const,
    rowOf('eu-1', api.kubeconfig),
    rowOf('eu-2', '/nowhere'),
    { ...rowOf('eu-3', '/nowhere'), members: {} },
  ]
  const facts = await regionFacts({ regions, region: 'here', data_dir: '/nowhere' })
  const of = (region: string) => facts.filter(({ name }) => name === `region ${region}`)
  expect(of('here')).toEqual([])
  expect(of('eu-1')[0]).toEqual({
    name: 'region eu-1',
    supported: true,
    finding: 'the cluster has all that is needed',
  })
  const vpcs = { supported: false, finding: 'VPCs are not offered in region eu-1' }
  expect(of('eu-1')).toContainEqual(expect.objectContaining(vpcs))
  expect(of('eu-2')[0]?.finding).toMatch(/^region eu-2 does not answer \(ENOENT/)
  expect(of('eu-3').map(({ finding }) => finding)).toEqual([
    'region eu-3 needs a host, at which clients reach its node ports',
  ])
})
