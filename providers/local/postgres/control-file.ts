// What pg_control says about a data directory: whether it was shut down cleanly and where its recovery would begin.
// Only reads. The fields it knows have the same offsets in every PostgreSQL from 13 to 18.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { readBytes } from '../host/tenant-files.ts'
import { floored, type Floor } from './settings.ts'
import { checksumOffsetOf } from './system-identifier.ts'

type ControlFile = { clean: boolean; redo: bigint; timeline: number; segment_bytes: number }

const control_path = 'global/pg_control'
/** PostgreSQL's own size of it is 8 kB. */
const control_bytes_max = 65_536
const state_shut_down = 1
/** PostgreSQL rewrites it within a few microseconds: a torn read is whole the next time. */
const read_attempts_max = 50

export async function readControl(data: string): Promise<ControlFile> {
  const bytes = await readWhole(data)
  return {
    clean: bytes.readUInt32LE(16) === state_shut_down,
    redo: bytes.readBigUInt64LE(40),
    timeline: bytes.readUInt32LE(48),
    segment_bytes: bytes.readUInt32LE(228),
  }
}

/** The settings of the server whose WAL was last written or replayed here; a standby must not have less of them. */
export async function floorOf(data: string): Promise<Floor> {
  const bytes = await readWhole(data)
  return {
    max_connections: bytes.readInt32LE(180),
    max_worker_processes: bytes.readInt32LE(184),
    max_wal_senders: bytes.readInt32LE(188),
    max_prepared_transactions: bytes.readInt32LE(192),
    max_locks_per_transaction: bytes.readInt32LE(196),
  }
}

/** Of those that can be read: what is wrong with the data of the others, PostgreSQL itself reports. */
export async function highestFloorOf(folders: readonly string[]): Promise<Floor> {
  const highest: Floor = {}
  for (const data of folders) {
    const floor: Floor = await floorOf(data).catch(() => ({}))
    for (const name of floored) highest[name] = Math.max(highest[name] ?? 0, floor[name] ?? 0)
  }
  return highest
}

/** Copies pg_control of a running server, whole, into a copy that is ours. */
export async function copyControl(from: string, to: string): Promise<void> {
  await writeFile(join(to, control_path), await readWhole(from), { mode: 0o600 })
}

async function readWhole(data: string): Promise<Buffer> {
  for (let attempt = 1; ; attempt++) {
    const bytes = readBytes(data, control_path, control_bytes_max)
    if (bytes === undefined) throw Object.assign(new Error('there is no pg_control'), { code: 'ENOENT' })
    try {
      checksumOffsetOf(bytes)
      return bytes
    } catch (error) {
      if (attempt === read_attempts_max) throw error
      await pause(1)
    }
  }
}
