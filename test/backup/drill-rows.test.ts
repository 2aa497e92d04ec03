// A drill compares the rows of a table with its primary key: what PostgreSQL itself takes for whole, page by page, may lack some.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { corruptionQuery } from '#providers/local/backup/sample.ts'
import { findService } from '#providers/local/postgres/nodes.ts'
import { withSuperuser } from '#providers/local/postgres/superuser.ts'
import { as_root, ask, newWanted, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'

const { newWorld } = useWorlds()

test('a row that its primary key lacks is found by a drill, and named', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = await newWanted(provider, { size: 'shared', snapshots: [{ snapshot_id: 's1', deleted: false }] })
  const { service_id } = wanted
  await settle(provider, wanted)
  await until(() => existsSync(join(world.directory, 'services', service_id, 'snapshots', 's1')))
  await ask(provider, wanted, 'create table orders (n int primary key)')
  await ask(provider, wanted, 'insert into orders select generate_series(1, 10)')
  const drill = () => provider.backup?.drill(service_id, { signal: new AbortController().signal })
  expect(await drill()).toBeUndefined()

  const node = (await findService(world.directory, service_id, as_root)) ?? expect.fail()
  const run = (statement: string) =>
    withSuperuser(node, { database: 'tsdb', major: 18 }, (client) => client.query(statement))
  const setReady = (is_ready: boolean) =>
    run(
      `update pg_catalog.pg_index set indisready = ${is_ready} where indexrelid = 'public.orders_pkey'::pg_catalog.regclass`,
    )
  await setReady(false)
  await ask(provider, wanted, 'insert into orders values (11)')
  await setReady(true)
  expect(await drill()).toBe(
    'database tsdb: heap tuple (0,11) from table "orders" lacks matching index tuple within index "orders_pkey"',
  )

  // A table that is larger than what one drill reads is read in parts, and compared by one of several drills.
  await ask(provider, wanted, 'insert into orders select generate_series(12, 100000)')
  await run(`set extension_control_path = '$system'; create extension amcheck schema pg_catalog`)
  const isFound = () => run(corruptionQuery(2_000_000)).then(() => false, isLacking)
  const isLacking = (error: unknown) => /lacks matching index tuple/.test(String(error))
  await until(isFound, { what: 'it is found by one of several samples' })
})
