// The WAL of a service that is not archived yet, as copies, cut at the position up to which it is flushed: a service that writes little
// would else keep its last WAL for itself for hours.
import { closeSync, openSync, read, writeSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Node } from '../host/layout.ts'
import { openFile } from '../host/tenant-files.ts'
import { inForce } from '../postgres/port-in-force.ts'
import { findPostmaster } from '../postgres/process.ts'
import { withSuperuser } from '../postgres/superuser.ts'
import { findPath, onPath } from '../wal/timeline.ts'
import { archiveAt, listSegments, pathIn, pgWalOf } from '../wal/wal.ts'

/** So long the archive may be behind before older WAL waits for its turn: 16 segments are 128 MB. */
const unarchived_max = 16
const chunk_bytes = 256 * 1024

/** The names of the WAL that the archive does not have yet. behind: a sentence, where there is more than fits. */
type Unarchived = { names: ReadonlySet<string>; behind?: string }

export async function stageUnarchived(node: Node, to: string): Promise<Unarchived> {
  const flushed = await flushedPosition(node)
  const path = await findPath(node.data, [pgWalOf(node.data), archiveAt(node.archive)])
  // A file of a timeline that was left may be archived under the same number.
  const archived = onPath(await listSegments(archiveAt(node.archive)), path).at(-1)?.number ?? -1
  // How much of a file is flushed; nothing, where it lies beyond.
  const written = ({ number, bytes }: { number: number; bytes: number }) =>
    Math.min(bytes, Math.max(0, flushed - number * bytes))
  const waiting = onPath(await listSegments(pgWalOf(node.data)), path).filter(
    (one) => one.number > archived && written(one) > 0,
  )
  const recent = waiting.slice(0, unarchived_max)
  const names = new Set(recent.map(({ name }) => name))
  for (const one of recent) await copyBeginning(node, one.name, join(to, one.name), written(one))
  if (waiting.length === recent.length) return { names }
  return { names, behind: `its archive is ${waiting.length} WAL files behind, of which ${recent.length} are copied` }
}

/** Without an end when no server runs: then its WAL ends where its files end. */
async function flushedPosition(node: Node): Promise<number> {
  if (!(await findPostmaster(node)).postmaster) return Infinity
  return await withSuperuser(await inForce(node), {}, async (client) => {
    const { rows } = await client.query<{ position: string }>(
      `select (pg_catalog.pg_current_wal_flush_lsn() - '0/0'::pg_catalog.pg_lsn)::text as position`,
    )
    return Number(rows[0]?.position)
  })
}

const readAt = promisify(read)

async function copyBeginning(node: Node, name: string, to: string, bytes: number): Promise<void> {
  const from = openFile(node.data, pathIn(pgWalOf(node.data), name))
  // It was archived meanwhile, and is found there.
  if (from === undefined) return
  const aside = join(node.backup, `${process.pid}.new`)
  const target = openSync(aside, 'w', 0o600)
  try {
    const chunk = Buffer.allocUnsafe(chunk_bytes)
    for (let at = 0; at < bytes;) {
      const { bytesRead } = await readAt(from, chunk, 0, Math.min(chunk.length, bytes - at), at)
      if (bytesRead === 0) break
      for (let done = 0; done < bytesRead;) done += writeSync(target, chunk, done, bytesRead - done, at + done)
      at += bytesRead
    }
  } finally {
    closeSync(from)
    closeSync(target)
  }
  await rename(aside, to)
}
