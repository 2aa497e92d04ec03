// Endpoints: every port of a region comes out of one table, so that no service, pooler or replica set ever gets one that
// is another's. A holder keeps its ports until it is gone; the triggers of the store let them go then.
import { Fault } from '#contract/fault.ts'
import { type Endpoint, NoEndpoint, type Provider } from '#providers/provider.ts'
import type { Sql } from './store/db.ts'

type Taking = {
  provider: Pick<Provider, 'region_code' | 'newEndpoint'>
  /** The service or replica set whose endpoint it becomes. */
  holder_id: string
  /** For a second one: where the first one is. */
  host?: string
}

const attempts_max = 20

/** Requests at the same time may pick the same port; the constraint lets one have it and the others pick again. */
export async function takeEndpoint(tx: Sql, { provider, holder_id, host }: Taking): Promise<Endpoint> {
  const { region_code } = provider
  const taken = new Set(await listTakenPorts(tx, region_code))
  for (let attempt = 0; attempt < attempts_max; attempt += 1) {
    const free = await provider.newEndpoint(taken).catch((error: unknown) => {
      throw error instanceof NoEndpoint ? new Fault('UNAVAILABLE', error.message) : error
    })
    const endpoint = { host: host ?? free.host, port: free.port }
    if (await insertEndpoint(tx, { ...endpoint, region_code, holder_id })) return endpoint
    taken.add(free.port)
  }
  throw new Fault('UNAVAILABLE', 'no free port was found; repeat the request', { retry_after_seconds: 1 })
}

async function listTakenPorts(tx: Sql, region_code: string): Promise<number[]> {
  const rows = await tx.query<{ port: number }>(`select port from endpoints where region_code = $1`, [region_code])
  return rows.map((row) => row.port)
}

/** False when somebody else has it by now. */
async function insertEndpoint(tx: Sql, row: Endpoint & { region_code: string; holder_id: string }): Promise<boolean> {
  const rows = await tx.query(
    `insert into endpoints (region_code, host, port, holder_id) values ($1, $2, $3, $4)
     on conflict on constraint endpoint_has_one_holder do nothing returning port`,
    [row.region_code, row.host, row.port, row.holder_id],
  )
  return rows.length === 1
}
