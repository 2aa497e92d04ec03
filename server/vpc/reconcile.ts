// One look at one VPC: hand the provider what is wanted, write down which links it saw. A VPC that was deleted keeps its
// network until the last service has been seen outside; a network that no row wants is a leftover, and goes.
import type { ObservedVpc, Pass, Provider } from '#providers/provider.ts'
import type { Db, Sql } from '../store/db.ts'
import { type LinkRow, listLinks, saveProvisioned } from './peerings.ts'
import type { Reconcile, Reconciled } from '../reconciler.ts'
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

/** Nobody asked and all is well: a network that vanished is noticed by itself, so this is for what is subtler. */
const routine_seconds = 300
const unsettled_seconds = 2

type Context = { db: Db; log: Log; providers: Regions }

export function newVpcReconcile({ db, log, providers }: Context): Reconcile {
  return async (key, pass) => {
    const row = await findVpc(db, Number(key))
    if (row === undefined) {
      // One that another store made, such as when this server was started with the wrong one, is not ours to remove.
      const was_ours = await vpcIdWasGiven(db, Number(key))
      return removeLeftover(was_ours ? [...providers.values()] : [], key, pass)
    }
    const provider = getProvider(providers, row.region_code)
    const links = await listLinks(db, row.id)
    const inhabited = await vpcIsInhabited(db, row.id)
    try {
      const seen = await provider.vpc.apply(wantedVpcOf(row, links, inhabited), pass)
      return reconciledOf(row, links, seen, inhabited)
    } catch (error) {
      log.error({ err: error, vpc_id: row.id, generation: row.generation }, 'a provider failed')
      const waiting_for = 'an unexpected error; the server log has the details, and it is tried again'
      const message = error instanceof Error ? error.message : String(error)
      // Nothing was seen, so nothing is known to have changed.
      const save = async (tx: Sql) => void (await saveVpcObserved(tx, { ...row, waiting_for }))
      return { again: 'backoff', error: message, save }
    }
  }
}

/** At start every VPC is looked at once, and every network that nobody wants. */
export async function nudgeEveryVpc({ db, providers }: Context): Promise<void> {
  for (const [region_code, provider] of providers) {
    const keys = new Set([
      ...(await listVpcIds(db, region_code)).map(String),
      ...(await provider.vpc.list()).map(({ id }) => id),
    ])
    for (const key of keys) await nudgeAll(db, 'vpc', [key], 0, region_code)
  }
}

/** Its network vanished: it is made again, and whatever was in it is started again. */
export async function nudgeVpc({ db }: Pick<Context, 'db'>, vpc_id: string): Promise<void> {
  await nudge(db, 'vpc', vpc_id)
  for (const { service_id } of await listServicesOfVpc(db, Number(vpc_id))) await nudge(db, 'service', service_id)
}

async function removeLeftover(providers: readonly Provider[], vpc_id: string, pass: Pass): Promise<Reconciled> {
  for (const { vpc } of providers) {
    if (!(await vpc.list()).some(({ id }) => id === vpc_id)) continue
    const seen = await vpc.apply({ vpc_id, deleted: true, cidr: '', peers: [] }, pass)
    if (!seen.settled) {
      const seconds = seen.look_again_seconds ?? unsettled_seconds
      return { again: { in_seconds: seconds }, error: seen.waiting_for, save: async () => {} }
    }
  }
  return { again: 'never', save: async () => {} }
}

function reconciledOf(row: VpcRow, links: readonly LinkRow[], seen: ObservedVpc, inhabited: boolean): Reconciled {
  if (row.deleted_at !== null && !inhabited && seen.settled) {
    return { again: 'never', save: (tx) => saveGone(tx, row) }
  }
  const pace = seen.settled ? routine_seconds : unsettled_seconds
  return {
    again: { in_seconds: seen.look_again_seconds ?? pace },
    error: seen.waiting_for,
    save: (tx) => saveSeen(tx, row, links, seen),
  }
}

async function saveGone(tx: Sql, row: VpcRow): Promise<void> {
  await removeVpc(tx, row.id)
  await announceSettled(tx, String(row.id))
}

async function saveSeen(tx: Sql, row: VpcRow, links: readonly LinkRow[], seen: ObservedVpc): Promise<void> {
  const observed = { id: row.id, observed_generation: row.generation, waiting_for: seen.waiting_for ?? null }
  const generation = await saveVpcObserved(tx, observed)
  if (row.generation > row.observed_generation) await announceSettled(tx, String(row.id))
  // What was linked then may not be wanted now: the next look, which has been asked for already, says.
  if (generation !== row.generation) return
  for (const { peering_id, link_id, provisioned_id } of links) {
    const link = seen.peers.find((peer) => peer.peering_id === String(link_id))
    const seen_id = link?.provisioned_id ?? null
    if (seen_id !== provisioned_id) await saveProvisioned(tx, peering_id, seen_id)
  }
}
