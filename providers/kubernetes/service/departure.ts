// How a deleted service leaves the namespace of its project, and how the last one takes it with it. Pure.
import type { Change } from '../cell.ts'
import type { Look } from '../cluster/look.ts'
import { isMember, memberOf, type ServiceNames } from '../names.ts'

/** Each pass after the one before; none: it is done. */
export function departureOf({ namespace }: Look, names: ServiceNames, service_id: string): Change[] {
  const ref = { kind: 'Namespace' as const, name: names.namespace }
  const { annotations = {}, deletionTimestamp, resourceVersion } = namespace?.metadata ?? {}
  if (namespace === undefined || deletionTimestamp !== undefined) return []
  const member = memberOf(service_id)
  if (member in annotations) {
    const patch = { metadata: { annotations: { [member]: null } } }
    return [{ effect: 'namespace: leave', merge: ref, patch }]
  }
  if (Object.keys(annotations).some(isMember)) return []
  // A service that joins at this moment changes the version, and the namespace stays.
  return [{ effect: 'namespace: remove', remove: ref, resource_version: resourceVersion }]
}
