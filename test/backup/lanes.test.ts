// What the two lanes of a backup know of the runs that they made: what is counted as copied, and which WAL may be forgotten, follows from it.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newDataLane } from '#server/backup/data-lane.ts'
import { backupFilesOf } from '#server/backup/backup-files.ts'
import { initRepository, openRepository, type Place, type Repository } from '#server/backup/repository.ts'
import { listRuns } from '#server/backup/restic.ts'
import type { Archived } from '#server/backup/retention.ts'
import { newStateFile } from '#server/backup/state-file.ts'
import { newWalStore } from '#server/backup/wal-store.ts'
import { parseBackupTarget } from '#server/backup-target.ts'
import { newLog } from '#server/log.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { has_restic, placeOf, why } from './copied.ts'

const data_dir = newDataDir()
let place: Place
let repository: Repository

beforeAll(async () => {
  if (!has_restic) return
  const backup_to = parseBackupTarget(`file://${data_dir}/repository`)
  place = await placeOf({ data_dir, backup_to, aws_access_key_id: undefined, aws_secret_access_key: undefined })
  await initRepository(place)
  repository = await openRepository(place)
})

afterAll(() => removeDataDir(data_dir))

function fill(folder: string, name: string): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), 'its content')
}

test.skipIf(why)(`a snapshot that is removed while it is copied is not counted as copied${why}`, async () => {
  const { restic, runs } = repository
  const folder = join(data_dir, 'local', 'snapshots', 'one')
  fill(folder, 'snapshot.json')
  const removing: Repository['restic'] = async (args, options) => {
    const text = await restic(args, options)
    if (args[0] === 'backup') rmSync(folder, { recursive: true })
    return text
  }
  const snapshot = { service_id: 'a', snapshot_id: 'one', taken_at: new Date(), folder }
  const storeData = newDataLane({
    place,
    backups: [{ listSnapshots: async () => [snapshot] }],
    state: newStateFile(backupFilesOf(data_dir)),
    archived: new Map(),
    listAlive: async () => [],
    lag_seconds: 10,
    log: newLog('silent'),
    exclusively: (work) => work(),
  })
  await storeData({ restic: removing, runs })
  for (const known of [runs, await listRuns(restic)]) expect(known.flatMap(({ tags }) => tags)).not.toContain('data')
})

test.skipIf(why)(
  `what restic says of files is not kept, however many there are; a line that cannot be read ends it${why}`,
  async () => {
    const { restic } = repository
    fill(data_dir, 'told')
    const words = ['backup', '--json', '--verbose=2', 'told']
    const options = { timeout_seconds: 60, cwd: data_dir }
    const lines: string[] = []
    expect(await restic(words, { ...options, onLine: (line) => lines.push(line) })).toBe('')
    expect(lines.filter((line) => line.includes('"/told"') && line.includes('"verbose_status"'))).toHaveLength(1)
    expect(lines.at(-1)).toContain('"snapshot_id"')
    const refuse = () => {
      throw new Error('no such line')
    }
    await expect(restic(words, { ...options, onLine: refuse })).rejects.toThrow('no such line')
  },
)

test.skipIf(why)(`of a service that is behind it is known which archived WAL a run has${why}`, async () => {
  const folder = join(data_dir, 'local', 'services', 'a', 'backup')
  const names = ['000000010000000000000003', '000000010000000000000004']
  for (const name of names) fill(join(folder, 'archive'), name)
  const files = names.map((name) => ({ path: `archive/${name}`, bytes: 'its content'.length }))
  const archived = new Map<string, Archived>()
  const { store } = newWalStore(place, archived)
  await store(repository, [{ service_id: 'a', at: new Date(), folder, files, behind: 'a file was planted' }])
  expect([...archived.values()]).toEqual([{ a: { first: names[0], last: names[1] } }])
})
