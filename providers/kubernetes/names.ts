// Every name and label that the provider gives in a cell. Pure. Ids are never used twice, so a name never meets an object of the same
// name that is still being removed.
import type { Metadata } from './api/kinds.ts'

export const service_label = 'howdah/service-id'
export const set_label = 'howdah/replica-set-id'
/** On the Pods of a pooler: its name. */
export const pooler_label = 'howdah/pooler'
const project_label = 'howdah/project-id'
export const installation_label = 'howdah/installation-id'

/** Of what it was made: equal exactly when the object is as it was wanted. */
export const digest_annotation = 'howdah/digest'
/** On the Secret with the verifier of a fork: up to which record it recovers, where no commit comes after its moment. */
export const recovery_annotation = 'howdah/recovers-to'
/** On a Backup that is complete: what it has, as it says itself in the store. */
export const taken_annotation = 'howdah/taken-at'
export const bytes_annotation = 'howdah/size-bytes'
export const snapshot_label = 'howdah/snapshot-id'
/** Of a Secret with a certificate: when that ends. */
export const expiry_annotation = 'howdah/expires'
/** On a Cluster: how many planned changes of its primary were made, and which one is under way, with the Pod that is to be the primary. */
export const switchovers_annotation = 'howdah/switchovers'
export const switching_annotation = 'howdah/switching'
export const hibernation_annotation = 'cnpg.io/hibernation'
/** On a namespace, one for each service in it. */
export const memberOf = (service_id: string) => `howdah/has-${service_id}`
export const isMember = (annotation: string) => annotation.startsWith('howdah/has-')

/** Enough to tell installations apart that share a cluster; project ids are unique anyway. */
const installation_chars = 4

export const backupOf = (snapshot_id: string) => `b-${snapshot_id}`

export type ServiceNames = ReturnType<typeof namesOf>

type Owner = { installation_id: string; project_id: string; service_id: string }

export function namesOf({ installation_id, project_id, service_id }: Owner) {
  const cluster = `s-${service_id}`
  return {
    namespace: `howdah-${installation_id.slice(0, installation_chars)}-${project_id}`,
    cluster,
    admin: `${cluster}-admin`,
    tls: `${cluster}-tls`,
    /** How a copy of a service of another region logs in there, while it is made. */
    copy: `${cluster}-copy`,
    public: `${cluster}-public`,
    pooler: `${cluster}-pool`,
    /** Of all services of the namespace. */
    store: 'store',
    network: 'howdah',
    labels: {
      [installation_label]: installation_id,
      [project_label]: project_id,
      [service_label]: service_id,
    },
    namespace_labels: { [installation_label]: installation_id, [project_label]: project_id },
  }
}

export function setNamesOf(names: ServiceNames, replica_set_id: string) {
  const cluster = `r-${replica_set_id}`
  return {
    cluster,
    tls: `${cluster}-tls`,
    public: `${cluster}-public`,
    pooler: `${cluster}-pool`,
    labels: { ...names.labels, [set_label]: replica_set_id },
  }
}

export type SetNames = ReturnType<typeof setNamesOf>

/** Whose an object is; undefined: no service's. */
export function ownerOf({
  labels = {},
}: Pick<Metadata, 'labels'>): { kind: 'service' | 'replica set'; id: string } | undefined {
  const [set, service] = [labels[set_label], labels[service_label]]
  if (set !== undefined) return { kind: 'replica set', id: set }
  return service === undefined ? undefined : { kind: 'service', id: service }
}

/** The hosts that a certificate names: where clients reach it, and where other Pods do. */
export function certificateHostsOf(cluster: string, namespace: string, host: string): string[] {
  const inside = [`${cluster}-rw`, `${cluster}-r`, `${cluster}-ro`]
  return [
    host,
    ...inside,
    ...inside.map((name) => `${name}.${namespace}`),
    ...inside.map((name) => `${name}.${namespace}.svc`),
  ]
}
