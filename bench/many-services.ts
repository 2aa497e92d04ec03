// Services that exist in the metadata store only: stopped, settled, with nothing to do for a day. For benches that ask
// what a big store costs; no process and no file belongs to them.
import pg from 'pg'

/** As many of a big store as of a small one: asking for more costs the one who asks, and finds fewer asked for twice. */
const asked_max = 100

/** Returns the ids of some of them, spread evenly over the table. */
export async function insertServices(url: string, project_id: string, count: number): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(
      `insert into services (service_id, project_id, name, region_code, service_type, environment,
         cpu_millis, memory_gbs, password_verifier, power, state, settled_generation, observed_at)
       select 'bn' || lpad(n::text, 8, '0'), $1, 'service ' || n, 'local', 'POSTGRES', 'DEV',
         500, 2, 'none', 'off', 'stopped', 1, now()
       from generate_series(1, $2::int) as n`,
      [project_id, count],
    )
    await client.query(
      `insert into addresses (region_code, host, port, owner_id, role)
       select 'local', '127.0.0.1', 100000 + n, 'bn' || lpad(n::text, 8, '0'), 'service'
       from generate_series(1, $1::int) as n`,
      [count],
    )
    await client.query(
      `insert into work (kind, key, due_at)
       select 'service', service_id, now() + interval '50 minutes' from services where service_id like 'bn%'`,
    )
    // What the insert left to do would otherwise be done during the measurement.
    await client.query('vacuum analyze')
    await client.query('checkpoint')
    const asked = Math.min(count, asked_max)
    return Array.from(
      { length: asked },
      (_, at) => `bn${String(Math.floor((at * count) / asked) + 1).padStart(8, '0')}`,
    )
  } finally {
    await client.end()
  }
}
