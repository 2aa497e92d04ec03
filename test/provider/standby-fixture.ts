// What the tests of replicas share: specs for them, and what can be observed of them from outside.
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { nodeOf } from '#providers/local/host/layout.ts'
import type { LocalProvider } from '#providers/local/local.ts'
import { withSuperuser } from '#providers/local/postgres/superuser.ts'
import type { WantedService } from '#providers/provider.ts'
import { pidIn } from '#test/traces.ts'
import { until } from '#test/until.ts'
import { as_root, ask, type World } from './service-fixture.ts'

export function withReplicas(
  wanted: WantedService,
  generation: number,
  replica_count: number,
  sync_replica_count: number,
): WantedService {
  return { ...wanted, generation, ha: { replica_count, sync_replica_count, switchovers: 0 } }
}

/** So many planned changes of the primary were asked for, of a service with one replica. */
export const withSwitchover = (wanted: WantedService, switchovers: number): WantedService => ({
  ...wanted,
  generation: wanted.generation + 1,
  ha: { replica_count: 1, sync_replica_count: 0, switchovers },
})

export const homeOf = (world: World, { service_id }: WantedService) => join(world.directory, 'services', service_id)

export const dataOf = (world: World, wanted: WantedService, node: number) =>
  join(homeOf(world, wanted), node === 0 ? '' : `node-${node}`, 'data')

export async function nodePid(world: World, wanted: WantedService, node: number): Promise<number> {
  return pidIn(await readFile(join(dataOf(world, wanted, node), 'postmaster.pid'), 'utf8'))
}

export async function nodeFoldersOf(world: World, wanted: WantedService): Promise<string[]> {
  return (await readdir(homeOf(world, wanted))).filter((name) => name.startsWith('node-')).toSorted()
}

/** As if all nodes had been told long ago what their files say: then a replica may take over as it runs. */
export async function haveRead(world: World, wanted: WantedService): Promise<void> {
  const folders = ['.', ...(await nodeFoldersOf(world, wanted))].map((name) => join(homeOf(world, wanted), name))
  for (const folder of folders) await makeOld(join(folder, 'reloaded'))
}

/** As if the sign in the file had been the same for long. */
export async function makeOld(path: string): Promise<void> {
  if (!existsSync(path)) return
  const text = await readFile(path, 'utf8')
  const old = text.replace(/^(since \S+) .*$/m, '$1 -1000000')
  expect(old).toMatch(/^since \S+ -1000000$/m)
  await writeFile(path, old)
}

/** By the primary's own word: who follows it, and how. */
export async function standbysOf(provider: LocalProvider, wanted: WantedService): Promise<Record<string, string>> {
  const sql = `select coalesce(json_object_agg(application_name, state order by application_name), '{}')::text
    from pg_stat_replication`
  return JSON.parse(await ask(provider, wanted, sql)) as Record<string, string> // as the statement makes it
}

/** Until the WAL that the primary writes now is in its archive alone: no standby streams it, and no slot keeps it. */
export async function leaveToArchive(world: World, { service_id, home }: WantedService): Promise<void> {
  const node = nodeOf(world.directory, service_id, home.port, as_root)
  await withSuperuser(node, {}, async (client) => {
    const { rows } = await client.query<{ name: string }>('select pg_walfile_name(pg_current_wal_insert_lsn()) as name')
    const written = join(node.data, 'pg_wal', rows[0]?.name ?? '')
    await client.query('select pg_terminate_backend(pid, 10000) from pg_stat_replication')
    await client.query('select pg_drop_replication_slot(slot_name) from pg_replication_slots')
    await until(async () => {
      await client.query(`select pg_logical_emit_message(false, 'test', ''), pg_switch_wal()`)
      await client.query('checkpoint')
      return !existsSync(written)
    })
  })
}

/** The process of a replica that takes in what its primary sends. */
export const walReceiverOf = (postmaster: number) => childOf(postmaster, 'walreceiver')

export async function childOf(postmaster: number, title: string): Promise<number> {
  return until(
    async () => {
      const children = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')
      for (const pid of children.split(' ').filter(Boolean)) {
        const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
        if (command.includes(title)) return Number(pid)
      }
      return undefined
    },
    { what: `the postmaster ${postmaster} has a ${title}` },
  )
}
