// One pass over one VPC: what is wanted of it comes from its row and its peerings, the links that the provider observed go there. A VPC
// that was deleted keeps its network until the last service was observed outside; a network that no row wants is removed.
import type { ObservedVpc, Pass, Provider } from '#providers/provider.ts'
import type { Db, Sql } from '../store/db.ts'
import { type LinkRow, listLinks, saveProvisioned } from './peerings.ts'
import { newReconcile } from '../reconcile.ts'
import type { Reconcile } from '../reconciler.ts'
import { getProvider, type Regions } from '../regions.ts'
import type { Log } from '../log.ts'
import { announceSettled } from '../settled.ts'
import { nudge, nudgeAll } from '../work.ts'
import { wantedVpcOf } from './rules.ts'
import {
  findVpc,
  listServicesOfVpc,
  listVpcIds,
  removeVpc,
  saveVpcObserved,
  vpcIdWasGiven,
  vpcIsInhabited,
  type VpcRow,
} from './store.ts'

type Subject = { row: VpcRow; links: readonly LinkRow[]; inhabited: boolean }
type Context = { db: Db; log: Log; providers: Regions }

export function newVpcReconcile({ db, log, providers }: Context): Reconcile {
  return newReconcile<Subject, ObservedVpc>({
    log,
    find: async (key) => {
      const row = await findVpc(db, Number(key))
      return row && { row, links: await listLinks(db, row.id), inhabited: await vpcIsInhabited(db, row.id) }
    },
    apply: ({ row, links, inhabited }, pass) =>
      getProvider(providers, row.region_code).vpc.apply(wantedVpcOf(row, links, inhabited), pass),
    isDeleted: ({ row, inhabited }) => row.deleted_at !== null && !inhabited,
    save: savePass,
    // Nothing was observed, so nothing is known to have changed.
    saveSetback: async (tx, { row }, waiting_for) => void (await saveVpcObserved(tx, { ...row, waiting_for })),
    saveRemoved: async (tx, { row }) => {
      await removeVpc(tx, row.id)
      await announceSettled(tx, String(row.id))
    },
    applyUnwanted: async (key, pass) => {
      // A network that another store made, such as when this server was started with the wrong one, is not ours to remove.
      const was_ours = await vpcIdWasGiven(db, Number(key))
      return removeNetworks(was_ours ? [...providers.values()] : [], key, pass)
    },
  })
}

/** At start there is a pass over every VPC, and over every network that no row wants. */
export async function nudgeEveryVpc({ db, providers }: Context): Promise<void> {
  for (const [region_code, provider] of providers) {
    const keys = new Set([
      ...(await listVpcIds(db, region_code)).map(String),
      ...(await provider.vpc.list()).map(({ id }) => id),
    ])
    for (const key of keys) await nudgeAll(db, 'vpc', [key], 0, region_code)
  }
}

/** Its network vanished: it is made again, and the services that were in it are started again. */
export async function nudgeVpc({ db }: Pick<Context, 'db'>, vpc_id: string): Promise<void> {
  await nudge(db, 'vpc', vpc_id)
  for (const { service_id } of await listServicesOfVpc(db, Number(vpc_id))) await nudge(db, 'service', service_id)
}

async function removeNetworks(providers: readonly Provider[], vpc_id: string, pass: Pass) {
  for (const { vpc } of providers) {
    if (!(await vpc.list()).some(({ id }) => id === vpc_id)) continue
    const observed = await vpc.apply({ vpc_id, deleted: true, cidr: '', peers: [] }, pass)
    if (!observed.settled) return observed
  }
  return { settled: true }
}

async function savePass(tx: Sql, { row, links }: Subject, observed: ObservedVpc): Promise<void> {
  const { waiting_for = null } = observed
  const generation = await saveVpcObserved(tx, { id: row.id, observed_generation: row.generation, waiting_for })
  if (row.generation > row.observed_generation) await announceSettled(tx, String(row.id))
  // These links may no longer be wanted: a nudge has come meanwhile, and the next pass decides.
  if (generation !== row.generation) return
  for (const { peering_id, link_id, provisioned_id } of links) {
    const link = observed.peers.find((peer) => peer.peering_id === String(link_id))
    const provisioned_now = link?.provisioned_id ?? null
    if (provisioned_now !== provisioned_id) await saveProvisioned(tx, peering_id, provisioned_now)
  }
}
