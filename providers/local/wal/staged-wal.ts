// The WAL of a service as it is made ready to be copied elsewhere (backup/stage.ts), and as it comes back: in one folder lie archived
// files, files that were not finished, and the file that says which timelines the service has left.
import { join } from 'node:path'
import { readIfThere } from '../../host/read.ts'
import { namesIfReadable } from './archive.ts'
import { leftAt, readExchange } from './left.ts'
import { historyOf, pathOf, type Path } from './timeline.ts'
import { isHistory, newestTimeline } from './wal.ts'

export const stagedIn = (folder: string) => ({
  archive: join(folder, 'archive'),
  partial: join(folder, 'partial'),
  exchange: join(folder, 'exchange.json'),
})

/** own: the timeline of the snapshot. histories: absent: where the folder itself has them. at: absent: the end of the WAL. */
type Wanted = { own: number; histories?: string; at: string | undefined }

/** The path on which the service was at a moment, or to the newest timeline of which there is a history. */
export async function findStagedPath(wal_folder: string, { own, histories, at }: Wanted): Promise<Path> {
  const staged = stagedIn(wal_folder)
  const folder = histories ?? staged.archive
  const known = (await namesIfReadable(folder)).filter(isHistory)
  const { left = [] } = (await readExchange(staged)) ?? {}
  const timeline = (at && leftAt(left, new Date(at))?.timeline) || newestTimeline(own, known)
  // Files there are any user's, but their names are ours.
  return pathOf(timeline, (await readIfThere(join(folder, historyOf(timeline)))) ?? '')
}
