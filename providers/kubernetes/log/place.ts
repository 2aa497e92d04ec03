// A cursor names a line of one node's log by its time, so it stays valid while lines arrive and old ones go. Callers cannot read it, and
// a cursor of another service or of other making is refused. It holds no secret and grants nothing. Pure.
import { createHash } from 'node:crypto'
import type { LinePlace } from './line.ts'

/** That line and all before it are older, those after it newer. */
type LogPlace = LinePlace & { node: number }

const version = 1
const checksum_chars = 16

export function newCursor(id: string, { node, time, nth }: LogPlace): string {
  const text = JSON.stringify([version, id, node, time, nth])
  return Buffer.from(checksumOf(text) + text).toString('base64url')
}

/** Undefined for text that is no cursor of this owner. */
export function parseCursor(id: string, cursor: string): LogPlace | undefined {
  const whole = Buffer.from(cursor, 'base64url').toString()
  const text = whole.slice(checksum_chars)
  // The decoder skips what is not base64url; a cursor has one spelling only.
  if (Buffer.from(whole).toString('base64url') !== cursor || checksumOf(text) !== whole.slice(0, checksum_chars))
    return undefined
  const [made_by, owner, node, time, nth] = JSON.parse(text) as unknown[]
  if (made_by !== version || owner !== id || typeof node !== 'number') return undefined
  return typeof time === 'string' && typeof nth === 'number' ? { node, time, nth } : undefined
}

const checksumOf = (text: string) =>
  createHash('sha256').update(`howdah pod log cursor ${text}`).digest('hex').slice(0, checksum_chars)
