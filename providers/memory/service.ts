// The services of the memory provider: each with its snapshots, and with what is copied into it from another one or from a moment of its own.
import type { ObservedService, Provider, ServiceSource, WantedService } from '../provider.ts'
import { type Thing, type Things, waiting } from './thing.ts'

type Service = Thing<WantedService>
type Services = Things<WantedService>

export const postgres_version = '18.4'
export const no_database = 'this region has no databases that could be asked; use a region with another provider'
const size_bytes = 40_000_000

export function serviceSubject(services: Services): Provider['service'] {
  return {
    refusal: () => undefined,
    list: services.list,
    query: async () => ({ unavailable: no_database }),
    apply: async (wanted, pass) => {
      const { service_id, deleted, power, source } = wanted
      if (!deleted && source && !services.find(service_id) && !canCopy(services, source))
        return { ...waiting('absent', `its parent ${source.service_id} does not have that moment yet`), snapshots: [] }
      const observed = { ...services.apply(service_id, wanted, power, pass), postgres_version, snapshots: [] }
      const service = services.find(service_id)
      if (service === undefined || !observed.settled) return observed
      return { ...observed, ...exchange(service, services), ...snapshotsOf(service) }
    },
  }
}

/** A service of another region is not in these maps. */
function canCopy(services: Services, { service_id, moment, origin }: ServiceSource): boolean {
  if (origin !== undefined) return !('closed' in origin)
  const parent = services.find(service_id)
  if (parent === undefined || moment === 'now') return parent !== undefined
  if ('snapshot_id' in moment) return parent.snapshots.has(moment.snapshot_id)
  return [...parent.snapshots.values()].some((taken_at) => taken_at <= new Date(moment.at))
}

/** Once for each id. */
function exchange(service: Service, services: Services): Pick<ObservedService, 'events' | 'exchange_refused'> {
  const { exchange: wanted } = service.wanted
  if (wanted === undefined || wanted.exchange_id === service.exchange_id) return { events: [] }
  if (!canCopy(services, wanted.source)) {
    const message = 'its data stays as it is: no snapshot leads to that moment any more'
    return { exchange_refused: wanted.exchange_id, events: [{ kind: 'setback', message }] }
  }
  service.exchange_id = wanted.exchange_id
  if (wanted.kept_as === undefined) service.snapshots.clear()
  return { events: [{ kind: 'rewound', message: 'its data is that of the moment' }] }
}

/** Takes the snapshots that are wanted, and removes all others. Until an exchange is made it removes none of those that it may need. */
function snapshotsOf({ wanted, snapshots, exchange_id }: Service): Pick<ObservedService, 'snapshots' | 'restorable'> {
  const is_exchanged = wanted.exchange === undefined || wanted.exchange.exchange_id === exchange_id
  const kept = new Set(wanted.snapshots.filter((one) => !one.deleted || !is_exchanged).map((one) => one.snapshot_id))
  for (const id of snapshots.keys()) if (!kept.has(id)) snapshots.delete(id)
  for (const { snapshot_id: id, deleted } of wanted.snapshots)
    if (!deleted && !snapshots.has(id)) snapshots.set(id, new Date())
  const [from] = snapshots.values()
  return {
    snapshots: wanted.snapshots.map(({ snapshot_id }) => {
      const taken_at = snapshots.get(snapshot_id)
      return taken_at ? { snapshot_id, state: 'complete', taken_at, size_bytes } : { snapshot_id, state: 'absent' }
    }),
    restorable: from ? { from, until: 'now' } : 'none',
  }
}
