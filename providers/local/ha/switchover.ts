// A planned change of the primary: the primary is stopped cleanly, which it does only when its replicas have everything, and a
// replica that has the last record takes over. Nothing is lost and nothing diverges.
// Each is made once or given up, which an event reports; a primary that no replica can follow is started again.
import { setTimeout as pause } from 'node:timers/promises'
import type { ObservedEvent, WantedService } from '../../provider.ts'
import { readControl } from '../postgres/control-file.ts'
import { nodeAt, type Node } from '../host/layout.ts'
import type { HaHost } from './ha-host.ts'
import { pausePooler } from '../pooler/pooler.ts'
import { findPosition, type Asked } from './position.ts'
import { leaderOf, savePrimary, type Primary } from '../postgres/primary.ts'
import { lsnText } from '../../postgres/lsn.ts'
import { listSenders } from './replication.ts'
import { ensureStopped, findPostmaster } from '../postgres/process.ts'
import { withSuperuser } from '../postgres/superuser.ts'

export type Switch = {
  host: HaHost
  base: Node
  wanted: WantedService
  primary: Primary
  standbys: readonly number[]
}

/** `next`: the replica that takes over, now that the primary is stopped; absent: the primary stays the same. */
export type ObservedSwitch = {
  next?: { node: number; position: Asked }
  events: ObservedEvent[]
  waiting_for?: string
}

const checkpoint_ms_max = 5_000
const replay_ms_max = 1_000
const poll_every_ms = 5

export const isSwitchoverWanted = ({ ha }: WantedService, { switchovers }: Primary) =>
  (ha?.switchovers ?? 0) > switchovers

export async function ensurePrimaryStopped(change: Switch): Promise<ObservedSwitch> {
  const { host, base, primary, standbys } = change
  const node = leaderOf(base, primary)
  const nodes = standbys.map((number) => nodeAt(base, number, 'standby'))
  const { postmaster } = await findPostmaster(node)
  if (postmaster) {
    // An earlier pass has told it to stop.
    if (!postmaster.stopping) {
      const written_out = postmaster.ready ? await writeOut(node).catch(() => undefined) : undefined
      // It cannot be asked right now: a server that does not serve is dealt with first.
      if (written_out === undefined) return { events: [] }
      if (written_out === 'not followed') return await giveUp(change, 'none of its replicas follows it')
      await Promise.all(nodes.map((one) => writeOutUpTo(one, written_out)))
    }
    host.watch.forget(node.service_id)
    await pausePooler(host, node)
    const waiting_for = await ensureStopped(host.effect, node)
    if (waiting_for !== undefined) return { events: [], waiting_for }
  }
  const running = await Promise.all(nodes.map(async (one) => (await findPostmaster(one)).postmaster !== undefined))
  // It was not stopped for this: the service as a whole was off.
  if (!running.includes(true)) return { events: [] }
  const { clean, redo, timeline } = await readControl(node.data)
  if (!clean) return await giveUp(change, `node ${primary.node} could not be stopped cleanly`)
  // The last record of a clean stop is a checkpoint; a replica needs everything up to its beginning.
  const next = await firstOf(
    nodes.filter((_, at) => running[at]),
    redo,
    timeline,
  )
  if (next === undefined) return await giveUp(change, 'none of its replicas has got everything within seconds')
  const message = `node ${next.node} becomes the primary as asked; it has everything, up to ${lsnText(next.position.lsn)}`
  return { next, events: [{ kind: 'switchover', message }] }
}

/** Checkpoints while the primary still serves, to shorten its stop. Returns up to where, in bytes from the beginning of all WAL. */
async function writeOut(node: Node): Promise<bigint | 'not followed'> {
  return await withSuperuser(node, { statement_timeout_ms: checkpoint_ms_max }, async (client) => {
    const senders = await listSenders(client)
    if (!senders.some(({ name, state }) => name.startsWith('node_') && state === 'streaming')) return 'not followed'
    // The stop writes what the checkpoint does not within its time.
    await client.query('checkpoint').catch(() => undefined)
    const { rows } = await client.query<{ reached: string }>(
      `select pg_catalog.pg_current_wal_lsn() - '0/0' as reached`,
    )
    return BigInt(rows[0]?.reached ?? 0)
  })
}

/** The same by a restartpoint of a replica, so that its start has little to replay. The start does the rest. */
async function writeOutUpTo(node: Node, reached: bigint): Promise<void> {
  const work = withSuperuser(node, { statement_timeout_ms: checkpoint_ms_max }, async (client) => {
    const behind = async () => {
      const { rows } = await client.query<{ replayed: string }>(
        `select pg_catalog.pg_last_wal_replay_lsn() - '0/0' as replayed`,
      )
      return BigInt(rows[0]?.replayed ?? 0) < reached
    }
    const deadline = performance.now() + replay_ms_max
    while ((await behind()) && performance.now() < deadline) await pause(poll_every_ms)
    await client.query('checkpoint')
  })
  await work.catch(() => undefined)
}

async function firstOf(nodes: readonly Node[], redo: bigint, timeline: number): Promise<ObservedSwitch['next']> {
  const asked = nodes.map(async (node) => {
    const position = await findPosition(node, redo)
    if (position?.timeline !== timeline) throw new Error(`node ${node.number} does not have everything`)
    return { node: node.number, position }
  })
  return await Promise.any(asked).catch(() => undefined)
}

async function giveUp({ host, base, wanted, primary }: Switch, reason: string): Promise<ObservedSwitch> {
  await savePrimary(host.effect, base, primary, { ...primary, switchovers: wanted.ha?.switchovers ?? 0 })
  const message = `node ${primary.node} stays the primary, although a switchover was requested: ${reason}`
  return { events: [{ kind: 'switchover', message }] }
}
