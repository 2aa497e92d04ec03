// Table tests of what a pass over a service changes, and of what it observes: above all in the states in which an operator's word
// alone would deceive.
import { expect, test } from 'vitest'
import type { Cluster, Pod } from '../api/kinds.ts'
import type { Change } from '../cell.ts'
import type { Look } from '../cluster/look.ts'
import { networkPolicyOf } from '../cluster/network.ts'
import { startLack } from '../pooler/pooler.ts'
import { observedOf } from './observed.ts'
import { afterwards, names, nothing, plan, podOf, settings, specOf, wanted } from './plan-fixture.ts'

test('a new service is made in order, and when all is there nothing is changed', () => {
  const changes = plan(nothing)
  expect(changes.map(({ effect }) => effect)).toEqual([
    'namespace: apply',
    'namespace: join',
    'network policy: apply',
    'admin secret: apply',
    'public service: apply',
    'cluster: apply',
  ])
  expect(plan(afterwards(changes))).toEqual([])
})

test('the Cluster of a new service', () => {
  expect(specOf(plan(nothing))).toMatchObject({
    instances: 1,
    imageCatalogRef: { kind: 'ClusterImageCatalog', name: 'howdah', major: 18 },
    storage: { size: '5Gi', storageClass: 'fast' },
    resources: { requests: { cpu: '1500m', memory: '4Gi' }, limits: { cpu: '1500m', memory: '4Gi' } },
    postgresql: {
      parameters: { shared_buffers: '1024MB' },
      shared_preload_libraries: ['timescaledb', 'pg_stat_statements'],
    },
    enableSuperuserAccess: false,
    certificates: { serverTLSSecret: 's-serv000000-tls', serverCASecret: 's-serv000000-tls' },
    bootstrap: { initdb: { database: 'tsdb', owner: 'tsdbadmin', secret: { name: 's-serv000000-admin' } } },
  })
  // Arguments of a container: a doubled dollar would arrive as one.
  expect(JSON.stringify(specOf(plan(nothing)))).not.toContain('$$')
})

test('a setting that is changed by hand is set again, and what the operator adds is left', () => {
  const look = afterwards(plan(nothing))
  const cluster = look.cluster as Cluster // it was just made
  const added = { ...cluster, spec: { ...cluster.spec, minSyncReplicas: 0 } }
  expect(plan({ ...look, cluster: added })).toEqual([])
  const changed = { ...cluster, spec: { ...cluster.spec, smartShutdownTimeout: 180 } }
  expect(plan({ ...look, cluster: changed }).map(({ effect }) => effect)).toEqual(['cluster: apply'])
})

test('a stop waits for the pooler and for the replica sets', () => {
  const look = afterwards(plan(nothing))
  const hibernation = (changes: readonly Change[]) =>
    changes.flatMap((one) => ('apply' in one ? (one.apply.metadata.annotations?.['cnpg.io/hibernation'] ?? []) : []))
  expect(hibernation(plan(look, { power: 'off' }))).toEqual(['on'])
  const running = {
    metadata: { name: 'p', generation: 2 },
    spec: { replicas: 1 },
    status: { observedGeneration: 2, replicas: 1 },
  }
  expect(hibernation(plan({ ...look, deployment: running }, { power: 'off' }))).toEqual([])
  const set = { cluster: { metadata: { name: 'r-set' }, spec: {} }, pods: [podOf(1)] }
  expect(hibernation(plan({ ...look, sets: [set] }, { power: 'off' }))).toEqual([])
  const stopping = afterwards([...plan(nothing), ...plan(look, { power: 'off' })])
  expect(plan({ ...stopping, sets: [set] }, { power: 'off' })).toEqual([])
})

const healthy = { phase: 'Cluster in healthy state', readyInstances: 1, instances: 1 }
const served = (status: Cluster['status'], pods: readonly Pod[]): Look => ({
  ...afterwards(plan(nothing), status),
  pods,
})
const ok = { result: 'ok' as const }
/** As a scheduler says it. */
const no_place =
  '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.'

test.each([
  { what: 'all is well', look: served(healthy, [podOf(1)]), probed: ok, state: 'serving', waiting_for: undefined },
  {
    what: 'healthy is said right after a change of the size',
    look: served(healthy, [podOf(1, { size: 'shared' })]),
    probed: ok,
    state: 'serving',
    waiting_for: 'its nodes are started with their new size',
  },
  {
    what: 'healthy is said, and no login succeeds',
    look: served(healthy, [podOf(1)]),
    probed: { result: 'failed' as const, reason: 'connect ECONNREFUSED' },
    state: 'not_serving',
    waiting_for: 'a login at its address fails: connect ECONNREFUSED',
  },
  {
    what: 'the old password is in force',
    look: served(healthy, [podOf(1)]),
    probed: { result: 'other_password' as const },
    state: 'serving',
    waiting_for: 'its new password is not in force yet',
  },
  {
    what: 'no node takes the Pod',
    look: served({ phase: 'Setting up primary' }, [
      {
        ...podOf(1),
        status: {
          conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: no_place }],
        },
      },
    ]),
    probed: undefined,
    state: 'not_serving',
    waiting_for:
      'no node of the region has 1500 milli-cores free for s-serv000000-1; it starts when one has: stop or delete other services, or add a node to the cluster',
  },
  {
    what: 'a phase is not known',
    look: served({ phase: 'Something new', phaseReason: 'why' }, [podOf(1)]),
    probed: ok,
    state: 'serving',
    waiting_for: 'the operator says: Something new (why)',
  },
])('what is observed when $what', ({ look, probed, state, waiting_for }) => {
  const observed = observedOf({ wanted, settings, look, probed })
  expect({ state: observed.state, waiting_for: observed.waiting_for, settled: observed.settled }).toEqual({
    state,
    waiting_for,
    settled: waiting_for === undefined,
  })
})

test('a pooler that does not start says why', () => {
  expect(startLack(nothing)?.waiting_for).toBe('its pooler is starting')
  const state = { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } }
  const pod: Pod = {
    metadata: { name: 's-serv000000-pool-abc' },
    spec: { containers: [] },
    status: { containerStatuses: [{ name: 'pgbouncer', state }] },
  }
  expect(startLack({ ...nothing, pooler_pods: [pod] })).toEqual({
    waiting_for: 's-serv000000-pool-abc does not start (ImagePullBackOff): no such image',
    in_progress: false,
  })
})

test('a hibernated Cluster says that it is healthy, and is stopped; with a Pod left it is not yet', () => {
  const off = { ...wanted, power: 'off' as const }
  const asleep = { ...healthy, conditions: [{ type: 'cnpg.io/hibernation', status: 'True' }] }
  expect(observedOf({ wanted: off, settings, look: served(asleep, []), probed: undefined })).toMatchObject({
    state: 'stopped',
    settled: true,
  })
  expect(observedOf({ wanted, settings, look: served(asleep, []), probed: undefined })).toMatchObject({
    state: 'stopped',
    settled: false,
  })
  const join: Pod = { metadata: { name: 'j', labels: { 'cnpg.io/jobRole': 'join' } }, spec: { containers: [] } }
  expect(observedOf({ wanted: off, settings, look: served(asleep, [join]), probed: undefined })).toMatchObject({
    state: 'stopped',
    settled: true,
  })
  expect(observedOf({ wanted: off, settings, look: served(asleep, [podOf(1)]), probed: ok })).toMatchObject({
    state: 'serving',
    settled: false,
  })
})

test('only a Cluster that its operator gave up has failed', () => {
  const look = served({ phase: 'Cluster is unrecoverable and needs manual intervention' }, [])
  expect(observedOf({ wanted, settings, look, probed: undefined })).toMatchObject({ failed: true, settled: false })
})

test.each([
  [undefined, undefined],
  [
    ['192.0.2.0/28'],
    [
      { podSelector: {} },
      { namespaceSelector: {}, podSelector: { matchLabels: { 'app.kubernetes.io/name': 'cloudnative-pg' } } },
      { ipBlock: { cidr: '192.0.2.0/28' } },
    ],
  ],
])(
  'Pods of a project are reached at the ports of clients, and at those of the operator by %j',
  (control_plane, from) => {
    const policy = networkPolicyOf(names, control_plane ? { control_plane } : {})
    const ports = (...all: number[]) => all.map((port) => ({ protocol: 'TCP', port }))
    expect(policy['spec']).toEqual({
      podSelector: {},
      policyTypes: ['Ingress'],
      ingress: [{ ports: ports(5432, 6432) }, { ...(from && { from }), ports: ports(8000, 9187) }],
    })
  },
)
