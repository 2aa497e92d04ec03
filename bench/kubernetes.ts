// Bench: create, stop, start, a replica and a fork in a Kubernetes region, until a client can log in, against the same manifests applied
// by hand (server-side apply, then waiting for the operator). Needs a cluster: KUBECONFIG, or test/kubernetes/rig/up. With `--stored 1000`,
// which needs none: what a server costs that has so many services there.
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Cluster, Manifest } from '#providers/kubernetes/api/kinds.ts'
import { nodePortOf, originOf, primaryOf } from '#providers/kubernetes/cluster/access.ts'
import { adminSecretOf, tlsChanges } from '#providers/kubernetes/cluster/secrets.ts'
import { namesOf, type ServiceNames } from '#providers/kubernetes/names.ts'
import { clusterOf, newDatabase } from '#providers/kubernetes/service/cluster.ts'
import type { Provider, WantedService } from '#providers/provider.ts'
import { loginAt, openRig, type Rig, rig_settings } from '#test/kubernetes/rig-region.ts'
import { newTestId, newWanted, password } from '#test/kubernetes/wanted.ts'
import { measureStored } from './kubernetes-stored.ts'
import { atMost, medianOf, printFigures, spread, timed } from './figures.ts'

const { values } = parseArgs({ options: { runs: { type: 'string', default: '3' }, stored: { type: 'string' } } })
const poll_ms = 200
const verbs = ['create', 'stop', 'start', 'one replica', 'fork NOW', 'delete'] as const
type Verb = (typeof verbs)[number]
type Side = Record<Verb, () => Promise<void>>
/** Poolers and stores need more objects than a person would write by hand. */
const { store: _store, pooler_image: _image, ...settings } = rig_settings

if (values.stored === undefined) await compare()
else await measureStored(Number(values.stored))

async function compare(): Promise<void> {
  const rig = await openRig({ settings })
  try {
    const provider = await rig.open()
    while (provider.facts().postgres_versions.length === 0) await pause(poll_ms)
    const [ours, floor] = [newTimes(), newTimes()]
    const byHandOnce = async () => measure(await byHand(rig, provider), floor)
    const byHowdahOnce = async () => measure(await byHowdah(provider), ours)
    for (let run = 0; run < Number(values.runs); run += 1) {
      // Each comes first as often as the other: what a run leaves behind slows the next one.
      const turns = run % 2 === 0 ? [byHandOnce, byHowdahOnce] : [byHowdahOnce, byHandOnce]
      for (const turn of turns) await turn()
    }
    const title = `Kubernetes, ${values.runs} runs at ${settings.host}`
    printFigures(
      title,
      verbs.map((what) => {
        const ratio = medianOf(ours[what]) / medianOf(floor[what])
        return { what, floor: spread(floor[what], 's'), ours: spread(ours[what], 's'), ratio, goal: atMost(1.2, ratio) }
      }),
    )
  } finally {
    await rig.close()
  }
}

function newTimes(): Record<Verb, number[]> {
  return { create: [], stop: [], start: [], 'one replica': [], 'fork NOW': [], delete: [] }
}

async function measure(side: Side, times: Record<Verb, number[]>): Promise<void> {
  for (const verb of verbs) {
    const seconds = (await timed(side[verb])) / 1000
    console.log(`${verb}: ${seconds.toFixed(1)} s`)
    times[verb].push(seconds)
  }
}

async function byHowdah(provider: Provider): Promise<Side> {
  const wanted = await newWanted(provider, { project_id: newTestId() })
  const source = { service_id: wanted.service_id, moment: 'now' } as const
  const fork = await newWanted(provider, { project_id: wanted.project_id, source })
  const settle = async (one: WantedService) => {
    while (!(await provider.service.apply(one)).settled) await pause(poll_ms)
  }
  const change = (parts: Partial<WantedService>) =>
    settle(Object.assign(wanted, parts, { generation: wanted.generation + 1 }))
  return {
    create: () => settle(wanted),
    stop: () => change({ power: 'off' }),
    start: () => change({ power: 'on' }),
    'one replica': () => change({ ha: { replica_count: 1, sync_replica_count: 0, switchovers: 0 } }),
    'fork NOW': () => settle(fork),
    delete: async () => void (await Promise.all([settle({ ...fork, deleted: true }), change({ deleted: true })])),
  }
}

async function byHand({ client, ca_pem, authority, installation_id }: Rig, provider: Provider): Promise<Side> {
  const wanted = await newWanted(provider, { project_id: newTestId() })
  const fork = await newWanted(provider, { project_id: wanted.project_id })
  const namesFor = ({ project_id, service_id }: WantedService) => namesOf({ installation_id, project_id, service_id })
  const names = namesFor(wanted)
  const { namespace } = names
  const apply = async (one: WantedService, manifest: Manifest) => {
    const { tls: name, labels, cluster } = namesFor(one)
    const certificate = await tlsChanges({ authority, settings }, { namespace, name, labels, cluster }, [], new Date())
    const at = { namespace, name: namesFor(one).public, labels, selector: primaryOf(cluster), at: one.home }
    await client.apply({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace, labels: names.namespace_labels },
    })
    await client.apply(adminSecretOf(namesFor(one), one))
    for (const change of certificate) if ('apply' in change) await client.apply(change.apply)
    await client.apply(nodePortOf(at))
    await client.apply(manifest)
  }
  const find = async (one: ServiceNames) =>
    // The form of the kind.
    (await client.find({ kind: 'Cluster', namespace, name: one.cluster })) as Cluster | undefined
  const healthy = async (one: WantedService, nodes: number) => {
    for (;;) {
      const { status } = (await find(namesFor(one))) ?? {}
      if (status?.phase === 'Cluster in healthy state' && status.readyInstances === nodes) break
      await pause(poll_ms)
    }
    for (;;) {
      const login = await loginAt({ at: one.home, password, ca_pem }).catch(() => undefined)
      if (login) return await login.end()
      await pause(poll_ms)
    }
  }
  const power = (value: 'on' | 'off') =>
    client.merge(
      { kind: 'Cluster', namespace, name: names.cluster },
      { metadata: { annotations: { 'cnpg.io/hibernation': value } } },
    )
  const manifestOf = (one: WantedService, bootstrap = newDatabase(namesFor(one), [])) =>
    clusterOf({
      names: namesFor(one),
      settings,
      major: majorOf(provider),
      wanted: one,
      instances: 1,
      sync: 0,
      quorum: false,
      hibernated: false,
      switchover: {},
      bootstrap,
    })
  const owner = { database: 'tsdb', owner: 'tsdbadmin', secret: { name: namesFor(fork).admin } }
  const copy = {
    bootstrap: { pg_basebackup: { source: names.cluster, ...owner } },
    externalClusters: [originOf(names)],
  }
  return {
    create: async () => {
      await apply(wanted, manifestOf(wanted))
      await healthy(wanted, 1)
    },
    stop: async () => {
      await power('on')
      const selection = { kind: 'Pod', label_selector: `cnpg.io/cluster=${names.cluster}` } as const
      while ((await client.list(selection)).items.length > 0) await pause(poll_ms)
    },
    start: async () => {
      await power('off')
      while (
        (await client.list({ kind: 'Pod', label_selector: `cnpg.io/cluster=${names.cluster}` })).items.length === 0
      )
        await pause(poll_ms)
      await healthy(wanted, 1)
    },
    'one replica': async () => {
      await client.merge({ kind: 'Cluster', namespace, name: names.cluster }, { spec: { instances: 2 } })
      await healthy(wanted, 2)
    },
    'fork NOW': async () => {
      await apply(fork, manifestOf(fork, copy))
      await healthy(fork, 1)
    },
    delete: async () => {
      await client.remove({ kind: 'Namespace', name: namespace })
      while ((await client.find({ kind: 'Namespace', name: namespace })) !== undefined) await pause(poll_ms)
    },
  }
}

function majorOf(provider: Provider): number {
  return Number(provider.facts().postgres_versions[0]?.split('.')[0])
}
