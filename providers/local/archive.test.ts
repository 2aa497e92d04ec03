// The archive settings as text: whole files only, and paths that a shell cannot misread.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { archiveSettings, shellPath } from './archive.ts'
import { placeOf } from './layout.ts'

test.each([
  ['/a/%f', `'/a/%f'`],
  ['/a/%f.new', `'/a/%f.new'`],
  ['/100%/%f', `'/100%%/%f'`],
  [`/it's/%f`, `'/it'\\''s/%f'`],
])('%s is written %s', (path, written) => {
  expect(shellPath(path)).toBe(written)
})

test('with the module there is no command, without it there is no module', () => {
  const place = placeOf('/d', 'abc', 20_001, false)
  expect(archiveSettings(place, true)).not.toHaveProperty('archive_command')
  expect(archiveSettings(place, false)).not.toHaveProperty('archive_library')
})

test('the command archives once, repeats without harm, and never overwrites other content', () => {
  const archive = mkdtempSync(join(tmpdir(), `howdah it's `))
  onTestFinished(() => rmSync(archive, { recursive: true }))
  const source = join(archive, 'source')
  const { archive_command = '' } = archiveSettings({ ...placeOf('/d', 'abc', 20_001, false), archive }, false)
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
