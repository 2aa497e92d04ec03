// A project with very many services, of which none runs, and with very many events.
import type { TestBrowser } from './browser.ts'

/** Straight in the store, in a region that is not there, so that no work follows. */
export async function newLongProject({ people }: TestBrowser, owner_id: string, services: number): Promise<string> {
  const project_id = 'longlist00'
  await people.db.query('insert into projects (id, name) values ($1, $2)', [project_id, 'long'])
  await people.db.query('insert into members (project_id, user_id, role) values ($1, $2, $3)', [
    project_id,
    Number(owner_id),
    'owner',
  ])
  await people.db.query(
    `insert into services (service_id, project_id, name, region_code, service_type, environment, password_verifier)
     select 'long' || lpad(n::text, 6, '0'), $1, 'one-' || lpad(n::text, 4, '0'), 'elsewhere', 'POSTGRES', 'DEV', ''
     from generate_series(1, $2::int) n`,
    [project_id, services],
  )
  await people.db.query(
    `insert into addresses (region_code, host, port, owner_id, role)
     select region_code, 'localhost', row_number() over (), service_id, 'service' from services where project_id = $1`,
    [project_id],
  )
  await people.db.query(
    `insert into service_events (project_id, service_id, kind, message)
     select $1, 'long000001', 'progress', 'event ' || n from generate_series(1, 700) n`,
    [project_id],
  )
  return project_id
}
