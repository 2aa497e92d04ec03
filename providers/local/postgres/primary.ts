// Which node of a service is its primary: one small file in the service's home, replaced whole and made durable. It is the
// only truth about it; no node is asked, because after a failover a node may still take itself for the primary.
// It is written only when no process of the primary before runs any more, so that there is never more than one.
import { join } from 'node:path'
import { type Effect, replaceDurably } from '../host/effect.ts'
import { readIfThere } from '../../host/read.ts'
import { nodeAt, type Node } from '../host/layout.ts'

export type Primary = {
  node: number
  /** Rises with every change of the primary. */
  term: number
  /** How many of the planned changes ever requested have been made, or given up. */
  switchovers: number
  /** It was promoted where it ran as a replica, and a relay listens at the endpoint, until its next start. */
  relayed?: true
}

const first: Primary = { node: 0, term: 1, switchovers: 0 }

export async function findPrimary(node: Node): Promise<Primary> {
  const text = await readIfThere(pathOf(node))
  return text === undefined ? first : (JSON.parse(text) as Primary) // written below, in one piece
}

export const leaderOf = (base: Node, { node: number, relayed }: Primary): Node =>
  nodeAt(base, number, relayed ? 'relayed' : 'primary')

export const findLeader = async (base: Node): Promise<Node> => leaderOf(base, await findPrimary(base))

/** Throws when `before` is no longer true: another process has changed the primary meanwhile. */
export async function savePrimary(effect: Effect, node: Node, before: Primary, next: Primary): Promise<void> {
  await replaceDurably(effect, 'primary', pathOf(node), next, async () => {
    const { term, switchovers } = await findPrimary(node)
    if (term !== before.term || switchovers !== before.switchovers)
      throw new Error('the primary was changed by another')
  })
}

const pathOf = ({ home }: Node) => join(home, 'primary.json')
