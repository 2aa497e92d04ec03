// A service's user may make any number of files, of any length, in folders of any depth. The server reads what PostgreSQL can have made, and
// does the work of others meanwhile.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { storageOf } from '#providers/local/host/storage.ts'
import { listNames } from '#providers/local/host/tenant-files.ts'
import { readPage } from '#providers/local/log/page.ts'
import { ensureLogRetention } from '#providers/local/log/retention.ts'
import { positionAt, readTail } from '#providers/local/log/tail.ts'

const query = { skip: 0, limit: 500, search: [], severities: [] }
const since_ms = Date.UTC(2026, 10, 18)

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-many-'))
  onTestFinished(() => void execFileSync('rm', ['-rf', folder]))
  return folder
}

/** What the work gives, and how often other work had a turn meanwhile. */
async function withTurns<T>(work: () => Promise<T>): Promise<[T, number]> {
  let [turns, is_over] = [0, false]
  const count = () => {
    turns += 1
    if (!is_over) setImmediate(count)
  }
  setImmediate(count)
  const value = await work()
  is_over = true
  return [value, turns]
}

test('a log of eight terabytes of holes is read as far as PostgreSQL can have written it, by threads', async () => {
  const folder = newFolder()
  const name = 'postgresql-20261118-000000.json'
  writeFileSync(join(folder, name), '')
  truncateSync(join(folder, name), 8 * 1024 ** 4)
  const log = { folder, node: 0 }
  for (const read of [
    () => readPage(log, { ...query, since_ms }, undefined),
    () => readTail(log, query, { node: 0, file: name, offset: 0 }),
    () => positionAt(log, since_ms),
  ]) {
    const [, turns] = await withTurns<unknown>(read)
    expect(turns).toBeGreaterThan(100)
  }
})

test('very many log files keep no other request waiting, and the oldest of them go', async () => {
  const folder = newFolder()
  const nameOf = (at: number) => `postgresql-20261118-${String(at).padStart(6, '0')}.json`
  for (let at = 0; at < 21_000; at += 1) writeFileSync(join(folder, nameOf(at)), '')
  const log = { folder, node: 0 }
  for (const read of [() => readPage(log, query, undefined), () => readTail(log, query, undefined)]) {
    const [, turns] = await withTurns<unknown>(read)
    expect(turns).toBeGreaterThan(100)
  }
  await ensureLogRetention(async () => undefined, folder, { days: 7, mb: 1024 })
  const left = readdirSync(folder).toSorted()
  expect(left).toHaveLength(20_000)
  expect(left[0]).toBe(nameOf(1_000))
})

test('folders in folders are measured in the time that it takes to read each once', async () => {
  const folder = newFolder()
  const make = `for my $n (1 .. 12_000) { mkdir "d"; mkdir "e"; chdir "d" or die } open my $f, ">", "file"; print $f "x" x 100_000; close $f`
  execFileSync('/usr/bin/perl', ['-e', make], { cwd: folder })
  const [bytes, turns] = await withTurns(() => storageOf(folder))
  // In blocks, the folder itself left out.
  const all = Number(execFileSync('du', ['-s', '--block-size=1', folder], { encoding: 'utf8' }).split('\t')[0])
  const own = Number(execFileSync('stat', ['-c', '%b', folder], { encoding: 'utf8' })) * 512
  expect(bytes).toBe(all - own)
  expect(turns).toBeGreaterThan(100)
})

test('a folder that is moved away while it is measured hides nothing but itself', async () => {
  const [folder, elsewhere] = [newFolder(), newFolder()]
  for (const name of ['one', 'two', 'three']) {
    mkdirSync(join(folder, 'base', name), { recursive: true })
    for (let at = 0; at < 500; at += 1) writeFileSync(join(folder, 'base', name, String(at)), 'text')
  }
  const own = await storageOf(join(folder, 'base', 'one'))
  const measured = storageOf(folder)
  // At the first turn for other work it is in one of them.
  await nextTurn()
  const open = readdirSync('/proc/self/fd').map((fd) => linkIfThere(`/proc/self/fd/${fd}`))
  const entered = open.find((path) => path.startsWith(join(folder, 'base/')))
  expect(entered).toBeDefined()
  renameSync(entered ?? '', join(elsewhere, 'moved'))
  expect(await measured).toBeGreaterThan(2 * own)
})

test('an archive of more than two terabytes is listed, and keeps no other request waiting', async () => {
  const folder = newFolder()
  // So many names of one file, because a file system may allow no more.
  const make = `for my $n (0 .. 299_999) { if ($n % 50_000) { link $first, $n or die } else { open my $f, ">", $n or die; $first = $n } }`
  execFileSync('/usr/bin/perl', ['-e', make], { cwd: folder })
  const [names, turns] = await withTurns(() => listNames(folder))
  expect(names).toHaveLength(300_000)
  expect(turns).toBeGreaterThan(100)
})

function linkIfThere(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
