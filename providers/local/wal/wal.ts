// WAL as files: their names, and which of the files in a folder have the WAL that their name says.
// The position in a name alone, as text, orders two files.
import { closeSync, fstatSync, readSync } from 'node:fs'
import { setImmediate as others } from 'node:timers/promises'
import { staged_file_bytes_max } from '../../backup.ts'
import { segmentNumberOf } from '../../postgres/lsn.ts'
import { listNames, openFile } from '../host/tenant-files.ts'

export type Segment = { name: string; number: number; bytes: number }

/** A folder with WAL: one of ours or of the service's user, and in it the one with the files. */
export type WalFolder = { folder: string; below: string }

export const pgWalOf = (data: string): WalFolder => ({ folder: data, below: 'pg_wal' })
export const archiveAt = (archive: string): WalFolder => ({ folder: archive, below: '' })
export const pathIn = ({ below }: WalFolder, name: string) => (below === '' ? name : `${below}/${name}`)
export const walNames = ({ folder, below }: WalFolder) => listNames(folder, below)

/** PostgreSQL's default size of a segment; clusters of this version have smaller ones. No other file of WAL is as large. */
export const wal_file_bytes_max = staged_file_bytes_max
/** PostgreSQL has powers of two from here on. */
const segment_bytes_min = 1024 ** 2

export const isSegment = (name: string) => /^[0-9A-F]{24}$/.test(name)
export const isHistory = (name: string) => /^[0-9A-F]{8}\.history$/.test(name)
export const isWal = (name: string) => isSegment(name) || isHistory(name)

/** The same for one position on any timeline, and in the order of the WAL. */
export const walPositionOf = (name: string) => name.slice(8, 24)

/** Of a segment or a history. */
export const timelineOf = (name: string) => Number.parseInt(name.slice(0, 8), 16)

/** The newest of this timeline and those of the files, of which a service's user may have made any number. */
export const newestTimeline = (own: number, names: readonly string[]): number =>
  names.reduce((newest, name) => Math.max(newest, timelineOf(name)), own)

/** An archive may have many thousands, and each is opened: so many, until other work has a turn. */
const opened_at_a_stretch = 64
/** The long header that begins every segment. */
const header_bytes = 40

/**
 * The segments of a folder from this position on, oldest first, without those that PostgreSQL keeps only to reuse them; up to
 * the last position when one is given.
 */
export async function listSegments(wal: WalFolder, first_name?: string, last_name?: string): Promise<Segment[]> {
  const from = first_name === undefined ? '' : walPositionOf(first_name)
  const isAsked = (name: string) =>
    walPositionOf(name) >= from && (last_name === undefined || walPositionOf(name) <= walPositionOf(last_name))
  const names = (await walNames(wal)).filter((name) => isSegment(name) && isAsked(name))
  const found: Segment[] = []
  for (const [at, name] of names.entries()) {
    if (at % opened_at_a_stretch === opened_at_a_stretch - 1) await others()
    const segment = findSegment(wal, name)
    if (segment) found.push(segment)
  }
  return found.toSorted((a, b) => a.number - b.number)
}

function findSegment(wal: WalFolder, name: string): Segment | undefined {
  // Removed or reused between the listing and here, which PostgreSQL does only with segments that it does not need.
  const found = readHeader(wal, name)
  if (found === undefined) return undefined
  const { header, size } = found
  const [address, segment_bytes] = [header.readBigUInt64LE(8), header.readUInt32LE(32)]
  // A service's user may have written it: what its header says of its size is what will be read of it.
  if (!isSegmentSize(segment_bytes) || size > segment_bytes) return undefined
  const number = segmentNumberOf(name, segment_bytes)
  // A segment that was renamed for later use still has its old address; a fresh one has none.
  const in_use = address === BigInt(number) * BigInt(segment_bytes)
  return in_use ? { name, number, bytes: segment_bytes } : undefined
}

const isSegmentSize = (bytes: number) =>
  bytes >= segment_bytes_min && bytes <= wal_file_bytes_max && Number.isInteger(Math.log2(bytes))

function readHeader(wal: WalFolder, name: string): { header: Buffer; size: number } | undefined {
  const file = openFile(wal.folder, pathIn(wal, name))
  if (file === undefined) return undefined
  try {
    const header = Buffer.alloc(header_bytes)
    if (readSync(file, header, 0, header_bytes, 0) < header_bytes) return undefined
    return { header, size: fstatSync(file).size }
  } finally {
    closeSync(file)
  }
}
