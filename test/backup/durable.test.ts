// What was fetched counts as fetched when it has its name: the machine may lose its power right after that, or the command may be killed
// before. So does what an installation notes of itself.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureRestored } from '#server/backup/fetch.ts'
import { listRuns, newLists, newRestic, type Restic, type Run } from '#server/backup/restic.ts'
import { ensureWalFrom, walFolderOf } from '#server/backup/restore-wal.ts'
import { makeOnce, replaceWhole } from '#server/whole-file.ts'
import { parseBackupTarget } from '#server/backup-target.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { newLossyDisk } from '#test/lossy-disk.ts'
import { has_restic, why } from './copied.ts'

const folder = newDataDir()
const disk = newLossyDisk({ size: '320M', shares_blocks: true })
const content = Buffer.alloc(1_000_000, 'what is to come back\n')
const segment = '000000010000000000000002'
const archived = (name: string) => join(walFolderOf('service'), 'archive', name)
const target = parseBackupTarget(`file://${folder}/repository`) ?? expect.fail()
const secrets = { aws_access_key_id: undefined, aws_secret_access_key: undefined }
const real = newRestic({ target, secrets, cache: join(folder, 'cache'), key: { text: 'a-secret-of-a-test' } })
const restic: Restic = (words, options) => real(words, { ...options, as_root: true })
const { why: why_no_power } = disk
const why_no_disk = why || why_no_power
let runs: Run[] = []
let run_id = ''

beforeAll(async () => {
  if (!has_restic) return
  await restic(['init'], { timeout_seconds: 60 })
  const source = join(folder, 'source')
  mkdirSync(join(source, archived('.')), { recursive: true })
  writeFileSync(join(source, archived(segment)), content)
  const words = ['backup', '--tag', 'wal', walFolderOf('service')]
  await restic(words, { timeout_seconds: 60, cwd: source })
  runs = await listRuns(restic)
  run_id = runs[0]?.id ?? ''
})

afterAll(async () => {
  disk.remove()
  await removeDataDir(folder)
})

const fetchWal = (by: Restic, to: string) =>
  ensureWalFrom({
    restic: by,
    lists: newLists(by),
    runs,
    last: run_id,
    has_last: false,
    durable: true,
    service_id: 'service',
    start_wal_file: segment,
    taken_at: new Date(0),
    target: to,
  })

const ways = {
  'a whole run': (to: string) => ensureRestored(restic, run_id, to),
  'a single WAL file': (to: string) => fetchWal(restic, to),
}

// Each by itself: what makes one durable flushes all that is there.
for (const [what, fetch] of Object.entries(ways)) {
  test.skipIf(why_no_disk)(`${what} that was fetched is all there after a loss of power${why_no_disk}`, async () => {
    const to = join(disk.path, what)
    await fetch(to)
    disk.losePower('named')
    await disk.mount()
    expect(readFileSync(join(to, archived(segment))).equals(content)).toBe(true)
  })
}

for (const write of [makeOnce, replaceWhole]) {
  test.skipIf(why_no_power)(`a file has its name after a loss of power: ${write.name}${why_no_power}`, async () => {
    const file = join(disk.path, write.name)
    if (write === replaceWhole) writeFileSync(file, 'before')
    execFileSync('sync', ['-f', disk.path])
    await write(file, 'after')
    disk.losePower()
    await disk.mount()
    expect(readFileSync(file, 'utf8')).toBe('after')
  })
}

test.skipIf(why)(`a WAL file that a killed command has written in part is fetched again${why}`, async () => {
  const to = join(folder, 'fetched')
  const cutShort: Restic = async (words, options) => {
    const said = await restic(words, options)
    const written = join(words[words.indexOf('--target') + 1] ?? '', archived(segment))
    if (words[0] !== 'restore' || !existsSync(written)) return said
    truncateSync(written, 1_000)
    throw new Error('killed')
  }
  await expect(fetchWal(cutShort, to)).rejects.toThrow('killed')
  await fetchWal(restic, to)
  expect(readFileSync(join(to, archived(segment))).equals(content)).toBe(true)
})
