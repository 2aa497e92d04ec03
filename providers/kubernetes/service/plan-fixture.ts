// What the table tests of a service share: a wanted service, a cell that has nothing of it, and what a plan leaves there.
import type { WantedService } from '../../provider.ts'
import type { Cluster, Pod } from '../api/kinds.ts'
import type { CellSettings, Change } from '../cell.ts'
import type { Look } from '../cluster/look.ts'
import { namesOf } from '../names.ts'
import { resourcesOf } from '../sizes.ts'
import { bootstrapOf, newDatabase } from './cluster.ts'
import { planOf } from './plan.ts'

export const names = namesOf({ installation_id: 'inst000000', project_id: 'proj000000', service_id: 'serv000000' })
export const settings: CellSettings = {
  host: 'pg.example.org',
  node_ports: { first: 30_000, last: 30_099 },
  storage_gbs: 5,
  storage_class: 'fast',
  catalog: 'howdah',
  extensions: [],
}
export const home = { host: 'pg.example.org', port: 30_007 }
export const wanted: WantedService = {
  service_id: 'serv000000',
  project_id: 'proj000000',
  generation: 1,
  deleted: false,
  power: 'on',
  size: { cpu_millis: 1500, memory_gbs: 4 },
  extensions: ['timescaledb'],
  password_verifier: 'SCRAM-SHA-256$4096:c2FsdA==$a:b',
  home,
  reach: home,
  snapshots: [],
}
export const nothing: Look = {
  namespace: undefined,
  cluster: undefined,
  pods: [],
  claims: [],
  secrets: [],
  services: [],
  deployment: undefined,
  pooler_pods: [],
  backups: [],
  object_store: undefined,
  store_secret: undefined,
  network_policy: undefined,
  sets: [],
}
export const now = new Date('2026-03-01T12:00:00Z')

export const plan = (
  look: Look,
  parts: Partial<WantedService> = {},
  bootstrap = newDatabase(names, wanted.extensions),
) =>
  planOf({
    wanted: { ...wanted, ...parts },
    look,
    names,
    settings,
    major: 18,
    bootstrap: look.cluster ? bootstrapOf(look.cluster) : bootstrap,
    tls: [],
    store: [],
    pooler: { before: [], after: [] },
    now,
  })

export const specOf = (changes: readonly Change[]) => {
  const change = changes.find(({ effect }) => effect === 'cluster: apply')
  return change && 'apply' in change ? (change.apply['spec'] as Record<string, unknown>) : undefined
}

/** What the API server has after all changes of a plan. */
export function afterwards(changes: readonly Change[], status: Cluster['status'] = {}): Look {
  const look = { ...nothing, secrets: [...nothing.secrets], services: [...nothing.services] }
  for (const change of changes) {
    if ('merge' in change && change.merge.kind === 'Namespace')
      look.namespace = { metadata: { name: names.namespace, annotations: { 'howdah/has-serv000000': '' } } }
    if (!('apply' in change)) continue
    const { apply } = change
    if (apply.kind === 'NetworkPolicy') look.network_policy = apply
    if (apply.kind === 'Secret') look.secrets.push(apply)
    if (apply.kind === 'Service') look.services.push(apply)
    if (apply.kind === 'Cluster') look.cluster = { ...apply, spec: apply['spec'] as Cluster['spec'], status }
  }
  return look
}

export const podOf = (
  number: number,
  parts: { ready?: boolean; role?: string; size?: WantedService['size'] } = {},
): Pod => ({
  metadata: {
    name: `s-serv000000-${number}`,
    labels: {
      'cnpg.io/cluster': 's-serv000000',
      'cnpg.io/podRole': 'instance',
      'cnpg.io/instanceRole': parts.role ?? (number === 1 ? 'primary' : 'replica'),
    },
  },
  spec: { containers: [{ name: 'postgres', resources: resourcesOf(parts.size ?? wanted.size, settings) }] },
  status: { conditions: [{ type: 'Ready', status: parts.ready === false ? 'False' : 'True' }] },
})
