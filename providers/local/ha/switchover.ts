// A change of the primary that somebody asked for: the primary is stopped cleanly, which it does only when its replicas have
// everything, and one of them takes over that is seen to have it to the last record. Nothing is lost and nothing diverges.
// Each one that was asked for is made once or given up, and then said so; a primary that nobody can follow is started again.
import { setTimeout as pause } from 'node:timers/promises'
import type { ObservedEvent, WantedService } from '../../provider.ts'
import { readControl } from '../postgres/control-file.ts'
import { nodeOf, type Place } from '../host/layout.ts'
import type { HaHost } from './ha-host.ts'
import { pausePooler } from '../pooler/pooler.ts'
import { findPosition, type Asked } from './position.ts'
import { leaderOf, savePrimary, type Primary } from '../postgres/primary.ts'
import { lsnText } from './quorum.ts'
import { listSenders } from './replication.ts'
import { ensureStopped, findPostmaster } from '../postgres/process.ts'
import { withSuperuser } from '../postgres/superuser.ts'

export type Switch = {
  host: HaHost
  base: Place
  wanted: WantedService
  primary: Primary
  standbys: readonly number[]
}

/** `next`: the one that takes over, now that nothing of the primary runs; absent: the primary stays the one it is. */
export type SwitchSeen = {
  next?: { node: number; position: Asked }
  events: ObservedEvent[]
  waiting_for?: string
}

const checkpoint_ms_max = 5_000
const replay_ms_max = 1_000
const look_every_ms = 5

export const isAskedFor = ({ ha }: WantedService, { switchovers }: Primary) => (ha?.switchovers ?? 0) > switchovers

export async function ensureStepsDown(change: Switch): Promise<SwitchSeen> {
  const { host, base, primary, standbys } = change
  const place = leaderOf(base, primary)
  const places = standbys.map((node) => nodeOf(base, node, 'standby'))
  const { postmaster } = await findPostmaster(place)
  if (postmaster) {
    if (!postmaster.ready) return { events: [] }
    const written_out = await writeOut(place).catch(() => undefined)
    // It cannot be asked right now: the story of a server that does not serve comes first.
    if (written_out === undefined) return { events: [] }
    if (written_out === 'not followed') return await giveUp(change, 'none of its replicas follows it')
    await Promise.all(places.map((one) => writeOutUpTo(one, written_out)))
    host.watch.forget(place.service_id)
    await pausePooler(host, place)
    const waiting_for = await ensureStopped(host.effect, place)
    if (waiting_for !== undefined) return { events: [], waiting_for }
  }
  const running = await Promise.all(places.map(async (one) => (await findPostmaster(one)).postmaster !== undefined))
  // Nobody stopped it for this: the service as a whole was off.
  if (!running.includes(true)) return { events: [] }
  const { clean, redo, timeline } = await readControl(place.data)
  if (!clean) return await giveUp(change, `node ${primary.node} could not be stopped cleanly`)
  // Of a clean stop the last record is a checkpoint, and that is where it begins.
  const next = await firstOf(
    places.filter((_, at) => running[at]),
    redo,
    timeline,
  )
  if (next === undefined) return await giveUp(change, 'none of its replicas has got everything within seconds')
  const message = `node ${next.node} becomes the primary as asked; it has everything, up to ${lsnText(next.position.lsn)}`
  return { next, events: [{ kind: 'switchover', message }] }
}

/** What the stop would have to write out, while it still serves. Returns up to where it did, in bytes from the beginning of all WAL. */
async function writeOut(place: Place): Promise<bigint | 'not followed'> {
  return await withSuperuser(place, { statement_timeout_ms: checkpoint_ms_max }, async (client) => {
    const senders = await listSenders(client)
    if (!senders.some(({ name, state }) => name.startsWith('node_') && state === 'streaming')) return 'not followed'
    // What it does not come to in time is left for the stop.
    await client.query('checkpoint').catch(() => undefined)
    const { rows } = await client.query<{ reached: string }>(
      `select pg_catalog.pg_current_wal_lsn() - '0/0' as reached`,
    )
    return BigInt(rows[0]?.reached ?? 0)
  })
}

/** The same of a replica, so that its start has next to nothing to replay. What it does not come to in time is left for that. */
async function writeOutUpTo(place: Place, reached: bigint): Promise<void> {
  const work = withSuperuser(place, { statement_timeout_ms: checkpoint_ms_max }, async (client) => {
    const behind = async () => {
      const { rows } = await client.query<{ replayed: string }>(
        `select pg_catalog.pg_last_wal_replay_lsn() - '0/0' as replayed`,
      )
      return BigInt(rows[0]?.replayed ?? 0) < reached
    }
    const deadline = performance.now() + replay_ms_max
    while ((await behind()) && performance.now() < deadline) await pause(look_every_ms)
    await client.query('checkpoint')
  })
  await work.catch(() => undefined)
}

async function firstOf(places: readonly Place[], redo: bigint, timeline: number): Promise<SwitchSeen['next']> {
  const asked = places.map(async (place) => {
    const position = await findPosition(place, redo)
    if (position?.timeline !== timeline) throw new Error(`node ${place.node} does not have everything`)
    return { node: place.node, position }
  })
  return await Promise.any(asked).catch(() => undefined)
}

async function giveUp({ host, base, wanted, primary }: Switch, reason: string): Promise<SwitchSeen> {
  await savePrimary(host.effect, base, primary, { ...primary, switchovers: wanted.ha?.switchovers ?? 0 })
  const message = `node ${primary.node} stays the primary, although another one was asked for: ${reason}`
  return { events: [{ kind: 'switchover', message }] }
}
