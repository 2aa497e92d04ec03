// Exchanges of a service's data (service/exchange.ts), as one small file in its home says: which one is under way or was the last, and
// which timelines the service has left by them, each with the moment until which it was there.
// A moment is found where the service was at that moment, whatever became of its data later. So every moment means one state only.
import { rename, rm, writeFile } from 'node:fs/promises'
import type { Effect } from '../host/effect.ts'
import { readIfThere } from '../../host/read.ts'
import type { Node } from '../host/layout.ts'
import { syncOne } from '../host/tree.ts'

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
export async function saveExchange(effect: Effect, { exchange: path, home }: Node, next: Exchange): Promise<void> {
  const aside = `${path}.new`
  await effect(`exchange: write aside as ${next.state}`)
  await rm(aside, { force: true })
  await writeFile(aside, JSON.stringify(next), { mode: 0o600, flag: 'wx', flush: true })
  await effect(`exchange: rename into place as ${next.state}`)
  await rename(aside, path)
  await syncOne(home)
}
