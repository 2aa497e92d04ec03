// A server with a Kubernetes region and no object store, over a fake API server: what it does not offer is refused with one sentence,
// and a Cluster that is deleted past the API, or a Pod that no node takes, is told.
import { expect, test } from 'vitest'
import { startInstallation, type TestInstallation } from '#test/installation.ts'
import { newServicePorts } from '#test/ports.ts'
import { until } from '#test/until.ts'
import { useKubernetes } from './world.ts'

const { newWorld } = useKubernetes()

function regionOf({ kubeconfig }: { kubeconfig: string }, more: object = {}) {
  const { first, last } = newServicePorts()
  const members = { kubeconfig, host: '127.0.0.1', node_ports: `${first}-${last}`, catalog: 'rig', ...more }
  return { region_code: 'fake', provider: 'kubernetes', members, near: '/' } as const
}

type Features = Record<string, { offered: boolean; reason?: string }>

/** What the region says that it does not offer is refused, in the same words. */
async function expectRefusals({ call, project_id }: TestInstallation, at: string): Promise<void> {
  const { body } = await call<{ regions: { features: Features }[] }>('GET', '/capabilities')
  const { features = {} } = body.regions[0] ?? {}
  const missing = Object.keys(features).filter((name) => features[name]?.offered === false)
  // A session is the database's own, and what a log lacks is no request.
  const of_no_request = ['complete_logs', 'read_only_sessions']
  expect(missing).toEqual([...Object.keys(needing), 'snapshots', ...of_no_request].toSorted(byPlaceIn(features)))
  for (const [name, requests] of Object.entries(needing)) {
    for (const [path, input] of requests) {
      const place = path.startsWith('/') ? `/projects/${project_id}${path}` : `${at}/${path}`
      const { status, body: refused } = await call('POST', place, input)
      expect({ path, status }).toEqual({ path, status: 400 })
      expect(JSON.stringify(refused)).toContain(features[name]?.reason ?? 'a reason')
    }
  }
}

const needing: Readonly<Record<string, readonly (readonly [path: string, body: object])[]>> = {
  pooler: [['enablePooler', {}]],
  forks_out: [['forkService', { fork_strategy: 'NOW', region_code: 'other' }]],
  vpcs: [['/vpcs', { name: 'a VPC', cidr: '10.100.0.0/16', region_code: 'fake' }]],
  rewinds: [
    ['rewind', { target_time: '2026-03-01T12:00:00Z' }],
    ['undoRewind', {}],
    ['reset', {}],
    ['forkService', { fork_strategy: 'NOW', mask: 'select 1' }],
  ],
  drills: [['drill', {}]],
  queries: [['query', { query: 'select 1' }]],
}

const byPlaceIn = (features: Features) => (one: string, other: string) =>
  Object.keys(features).indexOf(one) - Object.keys(features).indexOf(other)

test('without an object store snapshots are refused, and a loss is told', async () => {
  const { api } = await newWorld()
  const howdah = await startInstallation({
    config: { regions: [regionOf(api), { region_code: 'other', provider: 'memory' }] },
  })
  try {
    const { service_id } = await howdah.createService({ cpu_millis: 'shared' })
    const at = `${howdah.services}/${service_id}`
    const sentence = 'region fake keeps no snapshots: no object store is configured; name one with store'
    for (const [path, body] of [
      ['snapshots', {}],
      ['setSnapshotPolicy', { every: '6h', keep: '12h' }],
      ['forkService', { fork_strategy: 'LAST_SNAPSHOT' }],
      ['forkService', { fork_strategy: 'PITR', target_time: new Date().toISOString() }],
    ] as const) {
      const { status, body: refused } = await howdah.call('POST', `${at}/${path}`, body)
      expect({ path, status, refused: JSON.stringify(refused) }).toMatchObject({ path, status: 400 })
      expect(JSON.stringify(refused)).toContain(sentence)
    }
    expect((await howdah.call('GET', `${at}/restorable`)).body).toEqual({ waiting_for: sentence })
    await expectRefusals(howdah, at)
    const [cluster = ''] = api.store.paths().filter((path) => path.includes('/clusters/'))
    api.store.remove(cluster)
    const view = async () => (await howdah.call('GET', at)).body as { status: string; status_reason?: string }
    const lost = await until(async () => {
      const seen = await view()
      return seen.status === 'UNSTABLE' && seen.status_reason?.startsWith('its Cluster was deleted') && seen
    })
    expect(JSON.stringify(await howdah.eventsOf(service_id))).toContain(lost.status_reason)
    expect(api.store.find(cluster)).toBeUndefined()
    expect((await howdah.call('DELETE', at)).status).toBeLessThan(300)
    await until(async () => (await howdah.call('GET', at)).status === 404)
  } finally {
    await howdah.stop()
  }
})

test('a service that no node has place for says what it lacks and what to do, and is made when there is place', async () => {
  const { api, operator } = await newWorld()
  const free = operator.fill()
  const howdah = await startInstallation({ config: { regions: [regionOf(api, { cpu_overcommit: 4 })] } })
  try {
    const created = await howdah.call('POST', howdah.services, { name: 'a large one', cpu_millis: 1000 })
    const { service_id } = created.body
    const at = `${howdah.services}/${service_id}`
    const sentence = `no node of the region has 250 milli-cores free for s-${service_id}-1; it starts when one has: stop or delete other services, or add a node to the cluster`
    await until(async () => {
      const { body } = await howdah.call<{ status: string; status_reason?: string }>('GET', at)
      return body.status === 'CONFIGURING' && body.status_reason === sentence
    })
    expect(await howdah.eventsOf(service_id)).toContainEqual(
      expect.objectContaining({ kind: 'setback', message: sentence }),
    )
    free()
    await howdah.untilStatus(service_id, 'READY')
  } finally {
    await howdah.stop()
  }
})
