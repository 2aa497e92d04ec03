// WAL as files: their names, and which of those that lie somewhere hold WAL of the place that their name says.
// A name is 8 digits of timeline and 16 of place; the place alone, as text, tells which of two comes first.
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../look.ts'

export type Segment = { name: string; path: string; number: number; bytes: number }

const segment_name = /^[0-9A-F]{24}$/
export const isHistory = (name: string) => /^[0-9A-F]{8}\.history$/.test(name)

/** The same for one place on any timeline, and in the order of the WAL. */
export const placeInWal = (name: string) => name.slice(8, 24)

/** Of a segment or a history. */
export const timelineOf = (name: string) => Number.parseInt(name.slice(0, 8), 16)

/** The file that holds this position. */
export function segmentNameOf(timeline: number, position: bigint, segment_bytes: number): string {
  const number = position / BigInt(segment_bytes)
  const per_log = 0x1_0000_0000n / BigInt(segment_bytes)
  return [BigInt(timeline), number / per_log, number % per_log].map(hex8).join('')
}

/** An archive may hold many thousands, and each is opened: so many at once. */
const opened_at_once = 16

/**
 * The segments of a folder from this place on, oldest first, without those that PostgreSQL keeps only to reuse them; up to
 * that place when one is given.
 */
export async function listSegments(folder: string, first_name?: string, last_name?: string): Promise<Segment[]> {
  const from = first_name === undefined ? '' : placeInWal(first_name)
  const isAsked = (name: string) =>
    placeInWal(name) >= from && (last_name === undefined || placeInWal(name) <= placeInWal(last_name))
  const names = (await readdir(folder)).filter((name) => segment_name.test(name) && isAsked(name))
  const found: Segment[] = []
  for (let at = 0; at < names.length; at += opened_at_once) {
    const some = names.slice(at, at + opened_at_once).map((name) => findSegment(folder, name))
    found.push(...(await Promise.all(some)).filter((segment) => segment !== undefined))
  }
  return found.toSorted((a, b) => a.number - b.number)
}

async function findSegment(folder: string, name: string): Promise<Segment | undefined> {
  const path = join(folder, name)
  const header = await readHeader(path)
  if (header === undefined) return undefined
  const number = segmentNumberOf(name, header.segment_bytes)
  // One that was renamed for later use still says where it was before; a fresh one says nothing.
  const in_use = header.address === BigInt(number) * BigInt(header.segment_bytes)
  return in_use ? { name, path, number, bytes: header.segment_bytes } : undefined
}

/** The beginning of a segment's first page: its address and the size of segments. */
async function readHeader(path: string): Promise<{ address: bigint; segment_bytes: number } | undefined> {
  try {
    const file = await open(path, 'r')
    try {
      const bytes = Buffer.alloc(40)
      const { bytesRead } = await file.read(bytes, 0, bytes.length, 0)
      const segment_bytes = bytes.readUInt32LE(32)
      return bytesRead < bytes.length || segment_bytes === 0
        ? undefined
        : { address: bytes.readBigUInt64LE(8), segment_bytes }
    } finally {
      await file.close()
    }
  } catch (error) {
    // Removed or reused between the listing and here, which PostgreSQL does only with what nobody needs.
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Counted from the beginning of all WAL. */
export function segmentNumberOf(name: string, segment_bytes: number): number {
  const [log, low] = [name.slice(8, 16), name.slice(16, 24)].map((part) => Number.parseInt(part, 16))
  return (log ?? 0) * (0x1_0000_0000 / segment_bytes) + (low ?? 0)
}

const hex8 = (value: bigint) => value.toString(16).toUpperCase().padStart(8, '0')
