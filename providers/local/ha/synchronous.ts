// For which replicas a service's commits wait: one list in a file that every node's settings include, so that a node that
// takes over waits for the same ones. It never waits for fewer than promised, unless fewer are wanted.
// 1. A replica is listed only when it streams; a listed replica stays listed while it is unreachable, and commits wait.
// 2. Until a new list is known to protect every commit that was ever acknowledged, the older ones stay in the file too, as
//    comments: an election goes by all of them.
import type pg from 'pg'
import { ensureFile } from '../host/effect.ts'
import { ensureSince, findAge } from '../host/since.ts'
import { errorCode, readIfThere } from '../../host/read.ts'
import { nodeAt, type Node } from '../host/layout.ts'
import type { HaHost } from './ha-host.ts'
import type { SyncList } from './quorum.ts'
import { listSenders, type Sender } from './replication.ts'
import { findFilesHash } from '../postgres/files.ts'
import { ensureReloaded, findPostmaster, type Postmaster } from '../postgres/process.ts'
import { withSuperuser } from '../postgres/superuser.ts'
import { syncOne } from '../../host/sync.ts'

export type SyncSpec = {
  primary: number
  /** All nodes that are wanted, the primary among them. */
  nodes: readonly number[]
  sync_count: number
  streaming: readonly number[]
}

/** How long a pass waits until the replicas have everything that was acknowledged before. */
const wait_ms = 1_000
const checkpoint_ms_max = 5_000
const query_canceled = '57014'

export const nodeName = (number: number) => `node_${number}`

/** Every list that may be in force; the last is the one in the settings. */
export async function ensureSynchronous(
  host: HaHost,
  node: Node,
  postmaster: Postmaster,
  spec: SyncSpec,
): Promise<SyncList[]> {
  const lists = parseLists((await readIfThere(node.synchronous)) ?? textOf([no_members]))
  const next = nextListOf(lists.at(-1) ?? no_members, spec)
  const wanted = [...lists.filter((list) => namesOf(list) !== namesOf(next)), next]
  // Most services have no replicas, and no such file.
  if (wanted.every(({ sync_count }) => sync_count === 0)) return wanted
  await saveLists(host, node, wanted)
  // The others first: a replica that is promoted while it runs waits for the same ones.
  const standbys = others(spec.nodes, spec.primary).map((number) => nodeAt(node, number, 'standby'))
  for (const standby of standbys) await ensureStandbyReloaded(host, standby)
  await ensureReloaded(host.effect, node, postmaster, await findFilesHash(node))
  if (next.sync_count > 0) for (const standby of standbys) await ensureReadNoted(host, standby, next)
  const earlier = wanted.slice(0, -1)
  if (earlier.length === 0 || !(await isProtected(node, next, spec.primary, earlier))) return wanted
  await saveLists(host, node, [next])
  return [next]
}

async function ensureStandbyReloaded({ effect }: HaHost, standby: Node): Promise<void> {
  const { postmaster } = await findPostmaster(standby)
  if (postmaster?.ready) await ensureReloaded(effect, standby, postmaster, await findFilesHash(standby))
}

/** Notes that a standby that was told to read the list has done so. Where its checkpointer is busy, the next pass tries it again. */
async function ensureReadNoted({ effect }: HaHost, standby: Node, list: SyncList): Promise<void> {
  const { postmaster } = await findPostmaster(standby)
  if (!postmaster?.ready) return
  const told = `${postmaster.pid} ${await findFilesHash(standby)}`
  if ((await findAge(standby.reloaded, told)) === undefined) return
  const has_read = withSuperuser(
    standby,
    {},
    async (client) => (await isInForce(client, list)) && hasCheckpointerRead(standby),
  )
  if (await has_read.catch(() => false))
    await ensureSince(effect, 'reload marker', standby.reloaded, haveReadSign(told))
}

/** Of a server that was told to read its files: all of its processes by which commits wait have done so. */
export const haveReadSign = (told: string) => `${told} read`

/** Pure: the list that follows the one in force. */
export function nextListOf(current: SyncList, { primary, nodes: numbers, sync_count, streaming }: SyncSpec): SyncList {
  if (sync_count === 0) return no_members
  const members = numbers.filter(
    (number) => number === primary || streaming.includes(number) || current.members.includes(number),
  )
  if (others(members, primary).length >= sync_count) return { members: members.toSorted(ascending), sync_count }
  // Too few yet: members that are being replaced stand in for them.
  const all = [...new Set([...members, ...current.members])].toSorted(ascending)
  const count = Math.min(sync_count, others(all, primary).length)
  return count === 0 ? no_members : { members: all, sync_count: count }
}

/** As the value of PostgreSQL's setting. The primary's own name does no harm there, and a failover changes nothing. */
export function namesOf({ members, sync_count }: SyncList): string {
  return sync_count === 0 ? '' : `ANY ${sync_count} (${members.map(nodeName).join(', ')})`
}

/** The same; none where no list was ever saved. */
export const readLists = async ({ synchronous }: Node) => parseLists((await readIfThere(synchronous)) ?? '')

/** Lists in the order of the file. */
export function parseLists(text: string): SyncList[] {
  return [...text.matchAll(/^(?:# earlier: |synchronous_standby_names = ')([^'\n]*)/gm)].map(([, names = '']) => {
    const [, count = '0', members = ''] = /^ANY (\d+) \(([^)]*)\)/.exec(names) ?? []
    return {
      sync_count: Number(count),
      members: [...members.matchAll(/node_(\d+)/g)].map(([, node]) => Number(node)),
    }
  })
}

export function textOf(lists: readonly SyncList[]): string {
  const earlier = lists.slice(0, -1).map((list) => `# earlier: ${namesOf(list)}\n`)
  return `${earlier.join('')}synchronous_standby_names = '${namesOf(lists.at(-1) ?? no_members)}'\n`
}

const no_members: SyncList = { members: [], sync_count: 0 }
const others = (members: readonly number[], primary: number) => members.filter((number) => number !== primary)
const ascending = (a: number, b: number) => a - b

/** Durable before any server reads it. */
async function saveLists({ effect }: HaHost, node: Node, lists: readonly SyncList[]): Promise<void> {
  await ensureFile(effect, 'synchronous replicas', node.synchronous, textOf(lists), node.owner, { flush: true })
  // Also where it is there: a kill may have come between its rename and this.
  await syncOne(node.home)
}

/**
 * Whether the list is in force and everything acknowledged before is with as many of its members as it demands: from then
 * on an election needs this list alone. `earlier`: the lists that may be in force still.
 */
async function isProtected(node: Node, list: SyncList, primary: number, earlier: readonly SyncList[]) {
  return await withSuperuser(node, {}, async (client) => {
    if (!(await isInForce(client, list))) return false
    if (earlier.some(({ sync_count }) => sync_count === 0) && !(await hasCheckpointerRead(node))) return false
    const members = [list, ...earlier].flatMap((one) => one.members)
    if (list.sync_count > 0 && !(await haveSendersRead(client, members))) return false
    const { rows } = await client.query<{ written: string }>(
      `select pg_catalog.pg_current_wal_flush_lsn() - '0/0' as written`,
    )
    const target = BigInt(rows[0]?.written ?? 0)
    return await isTrueSoon(client, async () => haveEnough(await listSenders(client), list, primary, target))
  })
}

/** The server has been told to read its files, but may not have done so yet. */
async function isInForce(client: pg.Client, list: SyncList): Promise<boolean> {
  return await isTrueSoon(client, async () => {
    const { rows } = await client.query<{ names: string }>(
      `select current_setting('synchronous_standby_names') as names`,
    )
    return rows[0]?.names === namesOf(list)
  })
}

/** Pure: whether enough of its members have everything up to the target. A replica that connects again is two senders for a while. */
export function haveEnough(
  senders: readonly Pick<Sender, 'name' | 'flushed'>[],
  { members, sync_count }: SyncList,
  primary: number,
  target: bigint,
): boolean {
  const names = senders.filter(({ flushed }) => flushed >= target).map(({ name }) => name)
  return others(members, primary).filter((number) => names.includes(nodeName(number))).length >= sync_count
}

/**
 * Commits are acknowledged by walsenders, each by the settings that it has read. Again and again a walsender reads new settings, takes in
 * what its standby has, and sends: where it has sent WAL that is newer than the settings, it takes in nothing more by earlier ones.
 */
async function haveSendersRead(client: pg.Client, members: readonly number[]): Promise<boolean> {
  // No replica need have it: a pass would wait for lost ones.
  await client.query('set synchronous_commit = local')
  const { rows } = await client.query<{ newest: string }>(
    `select pg_catalog.pg_logical_emit_message(true, 'howdah', '') - '0/0' as newest`,
  )
  const newest = BigInt(rows[0]?.newest ?? 0)
  return await isTrueSoon(client, async () => haveSent(await listSenders(client), members, newest))
}

/** Pure: whether every walsender that a member has ever had and that still runs has sent all up to there. */
export function haveSent(
  senders: readonly Pick<Sender, 'name' | 'sent'>[],
  members: readonly number[],
  newest: bigint,
): boolean {
  const names = members.map(nodeName)
  return senders.every(({ name, sent }) => sent >= newest || !names.includes(name))
}

async function isTrueSoon(client: pg.Client, isTrue: () => Promise<boolean>): Promise<boolean> {
  for (const deadline = performance.now() + wait_ms; performance.now() < deadline;) {
    if (await isTrue()) return true
    await client.query('select pg_catalog.pg_sleep(0.005)')
  }
  return false
}

/**
 * Whether commits wait at all is a flag for all sessions, which the checkpointer sets when it reads the settings: not while it flushes.
 * This session begins when another one has the settings, so the postmaster has told the checkpointer before that; and between
 * two checkpoints that are made for this session the checkpointer reads them.
 */
async function hasCheckpointerRead(node: Node): Promise<boolean> {
  return await withSuperuser(node, { statement_timeout_ms: checkpoint_ms_max }, async (client) => {
    try {
      await client.query('checkpoint')
      await client.query('checkpoint')
      return true
    } catch (error) {
      // It goes on meanwhile, and a later pass finds less to flush.
      if (errorCode(error) === query_canceled) return false
      throw error
    }
  })
}
