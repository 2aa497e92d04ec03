// A cursor names a position in one node's log: a file and a byte at which a line starts. It is not a count, so it stays valid
// while entries arrive, files rotate and old ones are removed. It is opaque to callers, and a cursor of another
// service or of other making is refused: by its version, its service and a checksum. It holds no secret and grants nothing.
import { hash } from 'node:crypto'
import { isLogFile } from './files.ts'

/** Entries before this byte of this file, and those of all older files, are older than the position. */
export type LogPosition = { node: number; file: string; offset: number }

const version = 1
const checksum_bytes = 8

export function newCursor(service_id: string, { node: number, file, offset }: LogPosition): string {
  const text = JSON.stringify([version, service_id, number, file, offset])
  // Names of files are ASCII, as are the others: a character is a byte.
  return Buffer.from(checksumOf(text) + text, 'latin1').toString('base64url')
}

/** Undefined for text that is no cursor of this service. */
export function parseCursor(service_id: string, cursor: string): LogPosition | undefined {
  const bytes = Buffer.from(cursor, 'base64url')
  // The decoder skips what is not base64url; a cursor has one spelling only.
  if (bytes.toString('base64url') !== cursor || bytes.length <= checksum_bytes) return undefined
  const text = bytes.toString('latin1', checksum_bytes)
  if (checksumOf(text) !== bytes.toString('latin1', 0, checksum_bytes)) return undefined
  const [made_by, owner, node, file, offset] = parseArray(text)
  if (made_by !== version || owner !== service_id) return undefined
  if (typeof file !== 'string' || !isLogFile(file)) return undefined
  if (typeof node !== 'number' || typeof offset !== 'number') return undefined
  return isCount(node) && isCount(offset) ? { node, file, offset } : undefined
}

function parseArray(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

/** A character a byte. */
function checksumOf(text: string): string {
  return hash('sha256', `howdah log cursor ${text}`, 'binary').slice(0, checksum_bytes)
}
