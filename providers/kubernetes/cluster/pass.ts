// What every pass over something in the cell has in common: it begins when the cell was read, and an API server that does not answer or
// refuses is an answer in words, not a failure.
import { setTimeout as pause } from 'node:timers/promises'
import type { Pass } from '../../provider.ts'
import { progress, setback } from '../../setback.ts'
import { isStatus, sentenceOf } from '../api/errors.ts'
import { type Cell, type Change, make } from '../cell.ts'
import { StoreTrouble } from '../store/store.ts'
import type { Lack } from './lack.ts'

/** For the first lists after a start. */
const whole_ms_max = 4_000
const unknown_seconds = 5
const leaving_seconds = 0.5

export async function passOver<T>(
  cell: Cell,
  apply: () => Promise<T>,
  unknownOf: (waiting_for: string) => T,
  pass: Pass | undefined,
): Promise<T> {
  pass?.signal.throwIfAborted()
  try {
    if (!(await isWhole(cell)))
      return unknownOf(`region ${cell.region} was not read yet (${cell.cache.missing().join(', ')})`)
    return await apply()
  } catch (error) {
    pass?.signal.throwIfAborted()
    const sentence = error instanceof StoreTrouble ? error.message : sentenceOf(error, cell.region)
    if (sentence === undefined) throw error
    return unknownOf(sentence)
  }
}

/** Undefined: all is made. What the cell refuses keeps the rest from being made, and what is there can be seen all the same. */
export async function makeOrRefused(cell: Cell, changes: readonly Change[], pass?: Pass): Promise<Lack | undefined> {
  try {
    await make(cell, changes, pass)
    return undefined
  } catch (error) {
    if (!isStatus(error, 400, 403, 422)) throw error
    return { waiting_for: sentenceOf(error, cell.region) ?? error.message, in_progress: false }
  }
}

export const unknown = (waiting_for: string) => setback('unknown', waiting_for, unknown_seconds)

export const leaving = (waiting_for: string) => progress('not_serving', waiting_for, leaving_seconds)

/** `major`: which one it must have; undefined: any. */
export const noImage = ({ region }: Cell, major?: number) =>
  major === undefined
    ? `region ${region} has no image of PostgreSQL; see howdah doctor`
    : `region ${region} has no image of PostgreSQL ${major}, which its parent has; add one to the image catalog of the region`

export async function isWhole({ cache }: Cell): Promise<boolean> {
  for (const begun = performance.now(); !cache.isWhole(); await pause(50))
    if (performance.now() - begun > whole_ms_max) return false
  return true
}
