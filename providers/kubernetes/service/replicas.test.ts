// Table tests of replicas: in which order they come and go, a planned change of the primary, and whether commits wait for them.
import { expect, test } from 'vitest'
import type { Cluster, Pod } from '../api/kinds.ts'
import { abandonedChanges } from '../cluster/abandoned.ts'
import { nextCounts, wantedCounts } from './counts.ts'
import { replicationLack, replicationOf } from './replication.ts'
import { switchoverOf } from './switchover.ts'

const podOf = (number: number, parts: { ready?: boolean } = {}): Pod => ({
  metadata: { name: `s-serv000000-${number}`, labels: { 'cnpg.io/podRole': 'instance' } },
  spec: { containers: [] },
  status: { conditions: [{ type: 'Ready', status: parts.ready === false ? 'False' : 'True' }] },
})

const clusterWith = (instances: number, sync: number, ready = instances): Cluster => ({
  metadata: { name: 's' },
  spec: { instances, postgresql: sync > 0 ? { synchronous: { number: sync } } : {} },
  status: { readyInstances: ready },
})
const ha = (replica_count: number, sync_replica_count: number) => ({
  ha: { replica_count, sync_replica_count, switchovers: 0 },
})

test.each([
  { what: 'a new one begins with all nodes', goal: ha(2, 1), live: undefined, next: { instances: 3, sync: 0 } },
  { what: 'nodes come first', goal: ha(2, 1), live: clusterWith(1, 0), next: { instances: 3, sync: 0 } },
  {
    what: 'not waited for before they are ready',
    goal: ha(2, 1),
    live: clusterWith(3, 0, 2),
    next: { instances: 3, sync: 0 },
  },
  { what: 'then waited for', goal: ha(2, 1), live: clusterWith(3, 0), next: { instances: 3, sync: 1 } },
  { what: 'first not waited for', goal: ha(0, 0), live: clusterWith(3, 1), next: { instances: 3, sync: 0 } },
  { what: 'then gone', goal: ha(0, 0), live: clusterWith(3, 0), next: { instances: 1, sync: 0 } },
  {
    what: 'waited for while another one goes',
    goal: ha(1, 1),
    live: clusterWith(3, 1),
    next: { instances: 2, sync: 1 },
  },
])('replicas: $what', ({ goal, live, next }) => {
  expect(nextCounts(goal, live)).toEqual({ ...next, quorum: false })
})

const switching = (annotations: Record<string, string>, current: string, target = current): Cluster => ({
  metadata: { name: 's', annotations },
  spec: {},
  status: { currentPrimary: `s-serv000000-${current}`, targetPrimary: `s-serv000000-${target}` },
})
const once = { ha: { replica_count: 1, sync_replica_count: 0, switchovers: 1 } }

test('nodes stay while a commit may still wait for them', () => {
  expect(nextCounts(ha(0, 0), clusterWith(3, 0), 2)).toMatchObject({ instances: 3, sync: 0 })
  expect(nextCounts(ha(1, 1), clusterWith(3, 1), 2)).toMatchObject({ instances: 2, sync: 1 })
})

test('a failover needs a quorum when commits wait, not before, and as long as they do', () => {
  expect(nextCounts(ha(1, 1), clusterWith(2, 0), 0)).toMatchObject({ sync: 1, quorum: false })
  expect(nextCounts(ha(1, 1), clusterWith(2, 1), 0)).toMatchObject({ sync: 1, quorum: false })
  expect(nextCounts(ha(1, 1), clusterWith(2, 1), 1)).toMatchObject({ sync: 1, quorum: true })
  const live = clusterWith(2, 1)
  live.spec = { ...live.spec, postgresql: { synchronous: { number: 1, failoverQuorum: true } } }
  expect(nextCounts(ha(1, 1), live, 0)).toMatchObject({ sync: 1, quorum: true })
  expect(nextCounts(ha(0, 0), live, 1)).toMatchObject({ sync: 0, quorum: false })
})

test('a switchover is made once, whatever happens between', () => {
  const pods = [podOf(1), podOf(2)]
  const begun = { 'howdah/switching': '1 s-serv000000-2' }
  const waiting_for = 'another node is made the primary'
  expect(switchoverOf(once, switching({}, '1'), pods)).toEqual({
    annotations: begun,
    target: 's-serv000000-2',
    waiting_for,
  })
  // A crash before the operator was told.
  expect(switchoverOf(once, switching(begun, '1'), pods)).toMatchObject({
    annotations: begun,
    target: 's-serv000000-2',
  })
  expect(switchoverOf(once, switching(begun, '1', '2'), pods)).toEqual({ annotations: begun, waiting_for })
  const made = { 'howdah/switchovers': '1' }
  expect(switchoverOf(once, switching(begun, '2'), pods)).toEqual({ annotations: made })
  // A failover back is no reason for another one.
  expect(switchoverOf(once, switching(made, '1'), pods)).toEqual({ annotations: made })
  expect(switchoverOf(once, switching({}, '1'), [podOf(1), podOf(2, { ready: false })])).toMatchObject({
    waiting_for: 'no node is ready to become the primary',
  })
})

const statusOf = (...standbys: [string, string, string][]) =>
  JSON.stringify({
    replicationInfo: standbys.map(([applicationName, state, syncState]) => ({ applicationName, state, syncState })),
  })

test.each([
  { what: 'none was asked', status: undefined, lack: 'its primary was not asked for its replicas yet' },
  { what: 'none follows', status: statusOf(), lack: 'a replica does not follow the primary yet' },
  {
    what: 'the setting is not in force',
    status: statusOf(['s-serv000000-2', 'streaming', 'async'], ['r-set-1', 'streaming', 'quorum']),
    lack: 'commits do not wait for the wanted number of replicas yet',
  },
  { what: 'a commit waits', status: statusOf(['s-serv000000-2', 'streaming', 'quorum']), lack: undefined },
])('one synchronous replica, when $what', ({ status, lack }) => {
  const replication = status === undefined ? undefined : replicationOf(status, 's-serv000000')
  expect(replicationLack(ha(1, 1), replication)?.waiting_for).toBe(lack)
})

const jobPod = (parts: { placed: boolean }): Pod => ({
  metadata: {
    name: 's-serv000000-2-join-abcde',
    labels: {
      'cnpg.io/jobRole': 'join',
      'cnpg.io/instanceName': 's-serv000000-2',
      'batch.kubernetes.io/job-name': 's-serv000000-2-join',
    },
  },
  spec: { containers: [] },
  status: {
    conditions: parts.placed ? [] : [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
  },
})
const claims = [1, 2].map((number) => ({
  metadata: { name: `s-serv000000-${number}`, labels: { 'cnpg.io/instanceName': `s-serv000000-${number}` } },
}))

test.each([
  { what: 'not wanted any more', goal: ha(0, 0), instances: 1, placed: false, goes: true },
  { what: 'wanted', goal: ha(1, 0), instances: 2, placed: false, goes: false },
  { what: 'being made', goal: ha(0, 0), instances: 1, placed: true, goes: false },
  { what: 'not taken back yet', goal: ha(0, 0), instances: 2, placed: false, goes: false },
])('a replica that no node takes goes with its volume when it is $what: $goes', ({ goal, instances, placed, goes }) => {
  const look = { cluster: clusterWith(instances, 0), pods: [podOf(1), jobPod({ placed })], claims }
  const changes = abandonedChanges({ ...wantedCounts(goal), look, namespace: 'n' })
  const removed = changes.map((change) => ('remove' in change ? `${change.remove.kind} ${change.remove.name}` : ''))
  expect(removed).toEqual(goes ? ['PersistentVolumeClaim s-serv000000-2', 'Job s-serv000000-2-join'] : [])
})

test.each([
  { what: 'failed for good', failed: 4, others: [], goes: true },
  { what: 'may be tried again', failed: 3, others: [], goes: false },
  { what: 'is tried again right now', failed: 4, others: ['Running'], goes: false },
])('a replica of which the making $what goes with its job, so that another one is made: $goes', (one) => {
  const phases = [...Array.from({ length: one.failed }, () => 'Failed'), ...one.others]
  const attempts = phases.map((phase) => ({ ...jobPod({ placed: true }), status: { phase } }))
  const look = { cluster: clusterWith(2, 0), pods: [podOf(1), ...attempts], claims }
  const changes = abandonedChanges({ instances: 2, look, namespace: 'n' })
  expect(changes.map(({ effect }) => effect)).toEqual(one.goes ? ['replica volume: remove', 'replica job: remove'] : [])
})
