// Which replica takes over from a primary that was lost and fenced: the replicas that run are asked how far they are, and where that does
// not suffice the others are started first.
import type { WantedService } from '../../provider.ts'
import { findLock } from '../host/lock.ts'
import { nodeAt, type Node } from '../host/layout.ts'
import { ensureNodeHome, installationAt } from '../postgres/data-directory.ts'
import { inForce } from '../postgres/port-in-force.ts'
import { leaderOf } from '../postgres/primary.ts'
import { findPostmaster } from '../postgres/process.ts'
import type { HaHost } from './ha-host.ts'
import { findPosition } from './position.ts'
import { electionOf, haveWaited, type Election, type ObservedNode } from './quorum.ts'
import { isStandby } from './standby-data.ts'
import { standbySpecOf } from './standby-spec.ts'
import { ensureStandbyRunning } from './standby-server.ts'
import type { Switch } from './switchover.ts'
import { readLists } from './synchronous.ts'
import type { Trouble } from './trouble.ts'
import { findMissing, hasWalAfter } from './wal-tail.ts'

/** The primary is fenced. */
export async function elect(change: Switch, trouble: Trouble): Promise<Election> {
  return await withinReach(change, await mostAdvanced(change, trouble))
}

async function mostAdvanced({ host, base, wanted, primary, standbys }: Switch, trouble: Trouble): Promise<Election> {
  const nodes = standbys.map((number) => nodeAt(base, number, 'standby'))
  const running = await Promise.all(nodes.map(isRunning))
  const lists = await readLists(base)
  if (!running.includes(true)) {
    // All were stopped at once, as by a reboot: the primary itself serves again soonest.
    if (trouble.may_start) return { wait: 'none of its replicas runs' }
    if (trouble.data_is_there && !haveWaited(lists)) {
      return { wait: 'none of its replicas runs, and they may lack commits, which did not wait for them' }
    }
  }
  const observed = await Promise.all(nodes.filter((_, at) => running[at]).map(observe))
  const election = electionOf({ primary: primary.node, lists, observed })
  if ('elect' in election) return election
  const lost = leaderOf(base, primary)
  const started = nodes.filter((_, at) => !running[at]).map((node) => startAndObserve(host, node, lost, wanted))
  return electionOf({ primary: primary.node, lists, observed: [...observed, ...(await Promise.all(started))] })
}

/**
 * A replica for which commits did not wait may have to read the archive first: together with that the lost primary has all of them, and
 * what it has not archived joins nothing that the replica has.
 */
async function withinReach({ base, primary }: Switch, election: Election): Promise<Election> {
  if ('wait' in election || haveWaited(await readLists(base))) return election
  const lost = nodeAt(base, primary.node, 'standby')
  if (await hasWalAfter(lost, election.position)) return election
  const missing = await findMissing(lost, election.position)
  if (missing === undefined) return { wait: `node ${election.elect} has not read the archive to its end yet` }
  const way_out = `restore the service, or move ${lost.data} away, and node ${election.elect} takes over without them`
  return { wait: `node ${election.elect} lacks commits: the archive has no WAL file ${missing}; ${way_out}` }
}

/** As a replica: a former primary that was not yet made a replica has no position to report. */
export async function isRunning(node: Node): Promise<boolean> {
  return (await isStandby(node)) && (await findPostmaster(node)).postmaster !== undefined
}

async function observe(node: Node): Promise<ObservedNode> {
  return { node: node.number, position: await findPosition(await inForce(node)) }
}

async function startAndObserve(host: HaHost, node: Node, primary: Node, wanted: WantedService): Promise<ObservedNode> {
  await startAsReplica(host, node, primary, wanted)
  return await observe(node)
}

export async function startAsReplica(host: HaHost, node: Node, primary: Node, wanted: WantedService): Promise<void> {
  const installation = await installationAt(host, node, wanted)
  if (typeof installation === 'string' || (await findLock(node)) === 'copying while it stands still') return
  await ensureNodeHome(host.effect, node)
  await ensureStandbyRunning(host, standbySpecOf(primary, node.number, wanted, installation))
}
