// What a drill checks: the files of a service against their checksums, that all of its WAL was replayed, and what PostgreSQL's amcheck finds
// in a node that was brought to life. What is wrong is a sentence that names it.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../host/message.ts'
import { errorCode } from '../../host/read.ts'
import type { Node } from '../host/layout.ts'
import { readControl } from '../postgres/control-file.ts'
import { parseLsn, segmentNumberAt, segmentNumberOf } from '../../postgres/lsn.ts'
import { majorOf } from '../postgres/data-directory.ts'
import { withSuperuser } from '../postgres/superuser.ts'
import { stagedIn } from '../wal/staged-wal.ts'
import { fileIsOnPath, findPath } from '../wal/timeline.ts'
import { isSegment, pgWalOf, walPositionOf } from '../wal/wal.ts'
import { compareSums, overStaged } from './checksums.ts'
import { logOf } from './drill-server.ts'
import { sumsIn } from './note.ts'
import { corruptionQuery, sample_bytes } from './sample.ts'

const statement_timeout_ms = 3_600_000

type Compared = { snapshot_id: string; start_wal_file: string; folder: string; signal: AbortSignal }

export async function compareAll(own: Node, { snapshot_id, start_wal_file, folder, signal }: Compared) {
  const isNeeded = (name: string) => walPositionOf(name) >= walPositionOf(start_wal_file)
  const archive = { folder: join(own.backup, 'archive'), sums: sumsIn(own, 'archive') }
  const wal = await overStaged(archive.folder, signal, (either) =>
    compareSums({ ...archive, isNeeded, signal: either }),
  )
  if (wal !== undefined) return `the WAL file ${wal.path} ${wal.problem}`
  const data = await compareSums({ folder, sums: sumsIn(own, snapshot_id), isNeeded: () => true, signal })
  return data && `${data.path} of the snapshot ${snapshot_id} ${data.problem}`
}

/** WAL that cannot be read ends a recovery as its end does: every archived file but the last must have been passed. */
export async function replayedShort(node: Node, wal_folder: string): Promise<string | undefined> {
  const log = logOf(node)
  const [, done_at = '0/0'] = /redo done at ([0-9A-F]+\/[0-9A-F]+)/.exec(log) ?? []
  // Without the timeline that it began itself: the path that it was to take.
  const path = (await findPath(node.data, [pgWalOf(node.data)])).slice(0, -1)
  const { segment_bytes: bytes } = await readControl(node.data)
  const names = (await readdir(stagedIn(wal_folder).archive)).filter(isSegment)
  const segments = names.filter((name) => fileIsOnPath(path, name, bytes)).toSorted()
  const last = segments.at(-1)
  if (last === undefined) return undefined
  const end = segmentNumberAt(parseLsn(done_at), bytes)
  if (end >= segmentNumberOf(last, bytes)) return undefined
  const damaged = segments.find((name) => segmentNumberOf(name, bytes) === end) ?? last
  return `the WAL file ${damaged} is damaged: the recovery ended there`
}

/** Every page of a catalog, and a sample of the others, is read; a page whose checksum is wrong is an error of PostgreSQL's own. */
export async function checkDatabases(node: Node): Promise<string | undefined> {
  const names = await withSuperuser(node, {}, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      'select datname::text as name from pg_catalog.pg_database where datallowconn order by datname',
    )
    return rows.map(({ name }) => name)
  })
  const major = await majorOf(node)
  for (const database of names) {
    const found = await withSuperuser(
      node,
      { database, statement_timeout_ms, ...(major && { major }) },
      async (client) => {
        await client.query('create extension if not exists amcheck schema pg_catalog')
        try {
          const { rows } = await client.query<{ found: string }>(corruptionQuery(sample_bytes))
          return rows[0]?.found
        } catch (error) {
          // XX001, data_corrupted, and XX002, index_corrupted.
          if (!errorCode(error)?.startsWith('XX')) throw error
          return messageOf(error)
        }
      },
    )
    if (found !== undefined) return `database ${database}: ${found}`
  }
  return undefined
}
