// Gives a cleanly stopped copy of a data directory an identity of its own, as pg_resetwal would, but keeping its WAL:
// the system identifier in pg_control and in the first page of every WAL segment, and the secret from which PostgreSQL
// invents salts for unknown roles. Must not be run on a directory that is in use, needs recovery, or can be entered by a service's user.
import { open, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const nonce_bytes = 32
/** Offset of xlp_sysid in the long header that begins every WAL segment. */
const segment_identifier_offset = 24
/** The checksum follows the last field of pg_control's first sector; nothing of it lies before or beyond this. */
const checksum_search = { first: 200, last: 508 }

/** Seconds above, chance below: like PostgreSQL's own identifiers, never zero, and different for clones of one moment. */
export function newSystemIdentifier(now_seconds: number, chance: number): bigint {
  return (BigInt(now_seconds) << 32n) | BigInt(chance)
}

export async function saveSystemIdentifier(copy: string, identifier: bigint, nonce: Buffer): Promise<void> {
  const control = join(copy, 'global', 'pg_control')
  await writeFile(control, controlWith(await readFile(control), identifier, nonce))
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(identifier)
  for (const name of await readdir(join(copy, 'pg_wal'))) {
    if (!/^[0-9A-F]{24}$/.test(name)) continue
    const segment = await open(join(copy, 'pg_wal', name), 'r+')
    try {
      await segment.write(bytes, 0, bytes.length, segment_identifier_offset)
    } finally {
      await segment.close()
    }
  }
}

/** pg_control with another identifier, another secret, and the checksum that fits them. */
export function controlWith(control: Buffer, identifier: bigint, nonce: Buffer): Buffer {
  const checksum_offset = checksumOffsetOf(control)
  const changed = Buffer.from(control)
  changed.writeBigUInt64LE(identifier, 0)
  nonce.copy(changed, checksum_offset - nonce_bytes, 0, nonce_bytes)
  changed.writeUInt32LE(crc32c(changed.subarray(0, checksum_offset)), checksum_offset)
  return changed
}

export function identifierOf(control: Buffer): bigint {
  return control.readBigUInt64LE(0)
}

/** Found by search, because the fields before it differ between PostgreSQL versions. Throws when there is none. */
export function checksumOffsetOf(control: Buffer): number {
  for (let offset = checksum_search.first; offset <= checksum_search.last; offset += 4) {
    if (control.readUInt32LE(offset) === crc32c(control.subarray(0, offset))) return offset
  }
  throw new Error('pg_control has no valid checksum: it is damaged, or of an unknown PostgreSQL version')
}

/** CRC-32C (Castagnoli), which PostgreSQL uses everywhere. */
export function crc32c(bytes: Buffer): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}
