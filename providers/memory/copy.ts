// The moments of a service of the memory provider: its snapshots, and what is copied from it into a fork or into itself.
import type {
  Moment,
  ObservedService,
  ObservedSnapshot,
  ServiceSource,
  WantedService,
  WantedSnapshot,
} from '../provider.ts'
import type { Thing, Things } from './thing.ts'

type Service = Thing<WantedService>
export type Services = Things<WantedService>

const size_bytes = 40_000_000

/** A service of another region is not in these maps. */
export function canCopy(services: Services, { service_id, moment, origin }: ServiceSource): boolean {
  if (origin !== undefined) return !('closed' in origin)
  return hasMoment(services.find(service_id), moment)
}

function hasMoment(parent: Service | undefined, moment: Moment): boolean {
  if (parent === undefined || moment === 'now') return parent !== undefined
  if ('snapshot_id' in moment) return parent.snapshots.has(moment.snapshot_id)
  return [...parent.snapshots.values()].some((taken_at) => taken_at <= new Date(moment.at))
}

/** Once for each id. */
export function exchange(thing: Service, services: Services): Pick<ObservedService, 'events' | 'exchange_refused'> {
  const { exchange: wanted } = thing.wanted
  if (wanted === undefined || wanted.exchange_id === thing.exchange_id) return { events: [] }
  const { service_id, moment } = wanted.source
  if (!hasMoment(services.find(service_id), moment)) {
    const message = 'its data stays as it is: no snapshot leads to that moment any more'
    return { exchange_refused: wanted.exchange_id, events: [{ kind: 'setback', message }] }
  }
  thing.exchange_id = wanted.exchange_id
  if (wanted.kept_as === undefined) thing.snapshots.clear()
  return { events: [{ kind: 'rewound', message: 'its data is that of the moment' }] }
}

/** Takes those that are wanted, and removes all others. */
export function copiesOf({
  wanted,
  snapshots,
  exchange_id,
}: Service): Pick<ObservedService, 'snapshots' | 'restorable'> {
  const is_exchanged = wanted.exchange === undefined || wanted.exchange.exchange_id === exchange_id
  const isKept = ({ deleted }: WantedSnapshot) => !deleted || !is_exchanged
  const kept = new Set(wanted.snapshots.filter(isKept).map(({ snapshot_id }) => snapshot_id))
  for (const id of snapshots.keys()) if (!kept.has(id)) snapshots.delete(id)
  const observed = wanted.snapshots.map(({ snapshot_id, deleted }): ObservedSnapshot => {
    const taken_at = snapshots.get(snapshot_id) ?? (deleted ? undefined : new Date())
    if (taken_at === undefined) return { snapshot_id, state: 'absent' }
    snapshots.set(snapshot_id, taken_at)
    return { snapshot_id, state: 'complete', taken_at, size_bytes }
  })
  const [from] = snapshots.values()
  return { snapshots: observed, restorable: from ? { from, until: 'now' } : 'none' }
}
