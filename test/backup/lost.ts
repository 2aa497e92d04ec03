// A service of a provider that is not there any more, and what a copy elsewhere has of it.
import { cpSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { nodeOf } from '#providers/local/host/layout.ts'
import { withSuperuser } from '#providers/local/postgres/superuser.ts'
import type { WantedService } from '#providers/provider.ts'
import { as_root, ask, newWanted, settle, type World } from '#test/provider/service-fixture.ts'
import { homeOf } from '#test/provider/standby-fixture.ts'
import { until } from '#test/until.ts'

type Lost = { wanted: WantedService; kept: string }

/** The table t has a row of its own for each of that many WAL files, and one more. */
export async function newLost(world: World, { wal_files = 0 } = {}): Promise<Lost> {
  const provider = await world.open()
  const snapshots = [{ snapshot_id: 's1', deleted: false }]
  const wanted = { ...(await newWanted(provider, { size: 'shared' })), snapshots }
  await settle(provider, wanted)
  await until(() => existsSync(join(homeOf(world, wanted), 'snapshots', 's1')))
  await ask(provider, wanted, 'create table t as select 7 as n')
  const node = nodeOf(world.directory, wanted.service_id, wanted.home.port, as_root)
  for (let count = 0; count < wal_files; count += 1) {
    await ask(provider, wanted, 'insert into t values (7)')
    await withSuperuser(node, {}, (client) => client.query('select pg_switch_wal()'))
  }
  await until(() => readdirSync(node.archive).length >= wal_files)
  await provider.backup?.stageWal()
  const kept = join(world.directory, 'kept')
  for (const name of ['snapshots', 'backup'])
    cpSync(join(homeOf(world, wanted), name), join(kept, name), { recursive: true })
  await settle(provider, { ...wanted, deleted: true, generation: 2 })
  return { wanted, kept }
}
