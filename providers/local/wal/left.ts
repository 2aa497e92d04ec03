// Exchanges of a service's data (service/exchange.ts), as one small file in its home says: which one is under way or was the last, and
// which timelines the service has left by them, each with the moment until which it was there.
// A moment is found where the service was at that moment, whatever became of its data later. So every moment means one state only.
import { type Effect, replaceDurably } from '../host/effect.ts'
import { readIfThere } from '../../host/read.ts'
import type { Node } from '../host/layout.ts'

export type Left = { timeline: number; until: string }

/** `moving`: it is decided, and what is left of it is done by the next pass, whatever is wanted then. */
export type Exchange = {
  exchange_id: string
  state: 'moving' | 'done' | 'refused'
  kept_as?: string
  left: readonly Left[]
}

/** The timeline that the service was on at a moment, and has left since. */
export const leftAt = (left: readonly Left[], at: Date) => left.find(({ until }) => at <= new Date(until))

export async function readExchange({ exchange }: Pick<Node, 'exchange'>): Promise<Exchange | undefined> {
  const text = await readIfThere(exchange)
  return text === undefined ? undefined : (JSON.parse(text) as Exchange) // written below, in one piece
}

/** It is on the disk afterwards. */
export async function saveExchange(effect: Effect, { exchange: path }: Node, next: Exchange): Promise<void> {
  await replaceDurably(effect, `exchange ${next.state}`, path, next)
}
