// Copies what an installation knows into the repository: the metadata store, the keys and the certificates, when they have changed.
import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { statIfThere } from '#providers/host/read.ts'
import type { Db } from '../store/db.ts'
import { dumpMetadata } from './metadata.ts'
import type { Place, Repository } from './repository.ts'
import { readRun, run_timeout_seconds, storeRun } from './restic.ts'

/** `folder`: where the metadata is written first. `keys`: files of the regions. */
export function newMetaStore({ data_dir, installation_id }: Place, db: Db, folder: string, keys: readonly string[]) {
  let last = ''
  return async ({ restic, runs }: Repository): Promise<void> => {
    const time = new Date()
    await dumpMetadata(db, folder)
    const listed = await Promise.all((await readdir(folder)).map((name) => statIfThere(join(folder, name))))
    const text = JSON.stringify(listed.map((stats) => [stats?.size, stats?.mtimeMs]))
    if (text === last) return
    const inside = [folder, ...keys].map((path) => relative(data_dir, path))
    const paths = [...inside, 'installation-id', 'secret.key', 'metrics-token']
    const parent = runs.findLast(({ tags }) => tags.includes('meta'))?.id
    const named = { host: installation_id, tags: ['meta'], parent, paths, time }
    const options = { timeout_seconds: run_timeout_seconds, cwd: data_dir }
    const { id, names } = await storeRun(restic, named, options)
    const needed = join(relative(data_dir, folder), 'services.jsonl')
    if (!names.has(needed) && !(await readRun(restic, id)).files.has(needed)) {
      throw new Error('the metadata did not reach the repository')
    }
    runs.push({ id, time, tags: ['meta'], hostname: installation_id })
    last = text
  }
}
