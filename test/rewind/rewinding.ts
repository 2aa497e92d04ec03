// What the tests of rewinds share.
import type { LocalProvider } from '#providers/local/local.ts'
import type { WantedService } from '#providers/provider.ts'
import { settle } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'

export function rewound(wanted: WantedService, at: Date, kept_as: string): WantedService {
  const source = { service_id: wanted.service_id, moment: { at: at.toISOString() } }
  return {
    ...wanted,
    generation: wanted.generation + 1,
    exchange: { exchange_id: `exchange of ${kept_as}`, source, kept_as },
    snapshots: [...wanted.snapshots, { snapshot_id: kept_as, deleted: false }],
  }
}

export async function rewindTo(provider: LocalProvider, before: WantedService, at: Date, kept_as: string) {
  const wanted = rewound(before, at, kept_as)
  await settle(provider, wanted)
  return wanted
}

/** The moment of a snapshot, once it is complete. */
export async function takenAt(provider: LocalProvider, wanted: WantedService, snapshot_id: string): Promise<Date> {
  return await until(
    async () => {
      const { snapshots } = await provider.service.apply(wanted)
      const found = snapshots.find((one) => one.snapshot_id === snapshot_id)
      return found?.state === 'complete' && found.taken_at
    },
    { what: `snapshot ${snapshot_id} is complete` },
  )
}
