// A service as it is wanted: what was measured a few seconds ago may not be known yet, or be another number, and so be absent or differ
// from one answer to the next.
import type { Service } from '#contract/service.ts'

export function withoutMeasures(service: Service) {
  const { metrics: _metrics, protection: _protection, replicas: _replicas, running_since: _since, ...wanted } = service
  return { ...wanted, read_replica_sets: wanted.read_replica_sets.map(({ members: _members, ...set }) => set) }
}
