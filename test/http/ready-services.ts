// Rows without databases behind them, for tests of rules: services in a region that no server runs, READY until a pass
// over them, with replica sets.
import type { Db } from '#server/store/db.ts'
import { openStoreOf } from '#test/database.ts'
import { giveAddresses } from '#test/addresses.ts'
import type { TestInstallation } from '#test/installation.ts'

export type ReadyRows = {
  db: Db
  /** The id of a new service; more: assignments in SQL, such as `power = 'off'`. */
  newService(more?: string): Promise<string>
  /** The id of a new replica set of it, active unless the assignments say otherwise. */
  newSet(service_id: string, more?: string): Promise<string>
  close(): Promise<void>
}

export function openReadyRows(installation: TestInstallation): ReadyRows {
  const { project_id } = installation
  const db = openStoreOf(installation)
  return {
    db,
    newService: async (more = 'pooler = false') => {
      const [row] = await db.query<{ service_id: string }>(
        `insert into services (service_id, project_id, name, region_code, service_type, environment,
           cpu_millis, memory_gbs, password_verifier, settled_generation, state)
         values (substr(md5(random()::text), 1, 10), $1, 'ready', 'elsewhere', 'POSTGRES', 'DEV',
           500, 2, '', 1, 'serving') returning service_id`,
        [project_id],
      )
      const service_id = row?.service_id ?? ''
      await giveAddresses(db)
      await db.query(`update services set ${more} where service_id = $1`, [service_id])
      return service_id
    },
    newSet: async (service_id, more = 'pooler = false') => {
      const [row] = await db.query<{ replica_set_id: string }>(
        `insert into replica_sets (replica_set_id, service_id, region_code, name, environment, nodes,
           cpu_millis, memory_gbs, settled_generation, state)
         select substr(md5(random()::text), 1, 10), service_id, region_code, 'readers', 'DEV', 2, 500, 2, 1,
           'serving'
         from services where service_id = $1 returning replica_set_id`,
        [service_id],
      )
      const replica_set_id = row?.replica_set_id ?? ''
      await giveAddresses(db)
      await db.query(`update replica_sets set ${more} where replica_set_id = $1`, [replica_set_id])
      return replica_set_id
    },
    close: () => db.close(),
  }
}
