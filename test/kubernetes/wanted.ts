// A service as it is wanted of a Kubernetes region, on a fake API server or a real one, and how it comes to be so.
import { randomBytes } from 'node:crypto'
import type { ObservedService, Provider, WantedService } from '#providers/provider.ts'
import { newEndpoint } from '#test/addresses.ts'
import { wantedAt } from '#test/provider/wanted.ts'
import { until } from '#test/until.ts'

export const password = 'first password'

const taken = new Set<number>()

export const newTestId = () => `p${randomBytes(5).toString('hex').slice(0, 9)}`

const project_id = newTestId()

/** Small, and in the one project of the process. */
export async function newWanted(provider: Provider, parts: Partial<WantedService> = {}): Promise<WantedService> {
  const home = await newEndpoint(provider, taken)
  return wantedAt(home, { service_id: newTestId(), project_id, size: 'shared', ...parts })
}

/** Applied again and again, as the reconciler does; a failure names what it waits for. */
export const settle = (provider: Provider, wanted: WantedService, what = 'the service'): Promise<ObservedService> =>
  until(
    async () => {
      const observed = await provider.service.apply(wanted)
      if (!observed.settled) throw new Error(observed.waiting_for)
      return observed
    },
    { what: `${what} settles` },
  )
