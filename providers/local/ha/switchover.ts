// A change of the primary that somebody asked for: the primary is stopped cleanly, which it does only when its replicas have
// everything, and one of them takes over that is seen to have it to the last record. Nothing is lost and nothing diverges.
// Each one that was asked for is made once or given up, and then said so; a primary that nobody can follow is started again.
import type { Happening, WantedService } from '../../provider.ts'
import { readControl } from '../postgres/control-file.ts'
import { nodeOf, type Place } from '../layout.ts'
import type { LocalHost } from '../local-host.ts'
import { pausePooler } from '../pooler/pooler.ts'
import { findPosition, type Asked } from './position.ts'
import { leaderOf, savePrimary, type Primary } from './primary.ts'
import { lsnText } from './quorum.ts'
import { listSenders } from './replication.ts'
import { ensureStopped, findPostmaster } from '../postgres/process.ts'
import { withSuperuser } from '../postgres/superuser.ts'

export type Switch = {
  host: LocalHost
  base: Place
  wanted: WantedService
  primary: Primary
  standbys: readonly number[]
}

/** `next`: the one that takes over, now that nothing of the primary runs; absent: the primary stays the one it is. */
export type SwitchSeen = {
  next?: { node: number; position: Asked }
  happenings: Happening[]
  waiting_for?: string
}

const checkpoint_ms_max = 5_000

export const isAskedFor = ({ ha }: WantedService, { switchovers }: Primary) => (ha?.switchovers ?? 0) > switchovers

export async function ensureStepsDown(change: Switch): Promise<SwitchSeen> {
  const { host, base, primary, standbys } = change
  const place = leaderOf(base, primary)
  const { postmaster } = await findPostmaster(place)
  if (postmaster) {
    if (!postmaster.ready) return { happenings: [] }
    const followed = await isFollowed(place).catch(() => undefined)
    // It cannot be asked right now: the story of a server that does not serve comes first.
    if (followed === undefined) return { happenings: [] }
    if (!followed) return await giveUp(change, 'none of its replicas follows it')
    host.watch.forget(place.service_id)
    await pausePooler(host, place)
    const waiting_for = await ensureStopped(host.effect, place)
    if (waiting_for !== undefined) return { happenings: [], waiting_for }
  }
  const places = standbys.map((node) => nodeOf(base, node, 'standby'))
  const running = await Promise.all(places.map(async (one) => (await findPostmaster(one)).postmaster !== undefined))
  // Nobody stopped it for this: the service as a whole was off.
  if (!running.includes(true)) return { happenings: [] }
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
  return { next, happenings: [{ kind: 'switchover', message }] }
}

/** Whether one follows closely; and writes out what the stop would have to, while it still serves. */
async function isFollowed(place: Place): Promise<boolean> {
  return await withSuperuser(place, { statement_timeout_ms: checkpoint_ms_max }, async (client) => {
    const senders = await listSenders(client)
    if (!senders.some(({ name, state }) => name.startsWith('node_') && state === 'streaming')) return false
    // What it does not come to in time is left for the stop.
    await client.query('checkpoint').catch(() => undefined)
    return true
  })
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
  return { happenings: [{ kind: 'switchover', message }] }
}
