// The archive settings as text: whole files only, and paths that a shell cannot misread. And what is handed in again.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ensureArchiveWhole, ensureEndedPassed } from './archive.ts'
import { shellPath } from '../postgres/archive-settings.ts'
import { archiveSettings } from '../postgres/archive-settings.ts'
import { nodeOf } from '../host/layout.ts'

test.each([
  ['/a/%f', `'/a/%f'`],
  ['/a/%f.new', `'/a/%f.new'`],
  ['/100%/%f', `'/100%%/%f'`],
  [`/it's/%f`, `'/it'\\''s/%f'`],
])('%s is written %s', (path, written) => {
  expect(shellPath(path)).toBe(written)
})

test('with the module there is no command, without it there is no module', () => {
  const node = nodeOf('/d', 'abc', 20_001, false)
  expect(archiveSettings(node, true)).not.toHaveProperty('archive_command')
  expect(archiveSettings(node, false)).not.toHaveProperty('archive_library')
})

test('the command archives once, repeats without harm, and never overwrites other content', () => {
  const archive = mkdtempSync(join(tmpdir(), `howdah it's `))
  onTestFinished(() => rmSync(archive, { recursive: true }))
  const source = join(archive, 'source')
  const { archive_command = '' } = archiveSettings({ ...nodeOf('/d', 'abc', 20_001, false), archive }, false)
  const archiveOnce = () => {
    const command = archive_command.replaceAll('%p', source).replaceAll('%f', '000000010000000000000001')
    execFileSync('/bin/sh', ['-c', command], { stdio: 'ignore' })
  }
  writeFileSync(source, 'first')
  archiveOnce()
  archiveOnce()
  writeFileSync(source, 'second')
  expect(archiveOnce).toThrow()
  expect(readFileSync(join(archive, '000000010000000000000001'), 'utf8')).toBe('first')
  expect(readdirSync(archive)).toEqual(['000000010000000000000001', 'source'])
})

test('who took over hands in what the archive lacks, and nothing that was there before its beginning', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'howdah-archive-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const node = nodeOf(directory, 'abc', 20_001, false)
  const status = join(node.data, 'pg_wal', 'archive_status')
  for (const folder of [status, node.archive]) mkdirSync(folder, { recursive: true })
  const name = (number: number) => `00000001000000000000000${number}`
  for (const number of [2, 3, 4, 5, 6]) writeFileSync(join(node.data, 'pg_wal', name(number)), '')
  for (const number of [1, 2, 3, 4, 5]) writeFileSync(join(status, `${name(number)}.done`), '')
  for (const number of [3, 5]) writeFileSync(join(node.archive, name(number)), '')
  const effects: string[] = []
  const effect = async (one: string) => void effects.push(one)
  await ensureArchiveWhole(effect, node)
  expect(readdirSync(status).filter((file) => file.endsWith('.ready'))).toEqual([`${name(4)}.ready`])
  await ensureArchiveWhole(effect, node)
  expect(effects).toEqual(['archive: hand in'])
})

test('the last file of an ended timeline that another node has archived is passed over, and nothing else', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'howdah-archive-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const node = nodeOf(directory, 'abc', 20_001, false)
  const status = join(node.data, 'pg_wal', 'archive_status')
  for (const folder of [status, node.archive]) mkdirSync(folder, { recursive: true })
  const [unmarked, waiting, ended] = [
    '000000010000000000000001',
    '000000010000000000000002',
    '000000010000000000000003',
  ]
  const current = '000000020000000000000003'
  for (const name of [unmarked, ended, waiting, current]) writeFileSync(join(node.data, 'pg_wal', name), '')
  for (const name of [ended, waiting, current]) writeFileSync(join(status, `${name}.ready`), '')
  for (const name of [unmarked, ended, current]) writeFileSync(join(node.archive, name), '')
  expect(await ensureEndedPassed(async () => undefined, node)).toBe(true)
  const after = [`${unmarked}.done`, `${waiting}.ready`, `${ended}.done`, `${current}.ready`]
  expect(readdirSync(status).toSorted()).toEqual(after)
  expect(await ensureEndedPassed(async () => undefined, node)).toBe(false)
})
