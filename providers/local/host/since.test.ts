// Since when a sign has been the same: by the steady clock of this boot alone.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ensureSince, findAge } from './since.ts'

const written: string[] = []
const once = ['sign: write aside', 'sign: rename into place']
const effect = async (name: string) => void written.push(name)

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-since-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'sign')
}

test('a sign that stays the same is written once, and another sign, or another boot, begins anew', async () => {
  const path = newFile()
  expect(await findAge(path, 'down')).toBeUndefined()
  expect(await ensureSince(effect, 'sign', path, 'down')).toBe(0)
  const first = readFileSync(path, 'utf8')
  expect(await ensureSince(effect, 'sign', path, 'down')).toBeGreaterThan(0)
  expect(readFileSync(path, 'utf8')).toBe(first)
  expect(await findAge(path, 'dow')).toBeUndefined()
  expect(await ensureSince(effect, 'sign', path, 'down\nagain')).toBe(0)
  expect(await findAge(path, 'down\nagain')).toBeGreaterThan(0)
  writeFileSync(path, readFileSync(path, 'utf8').replace(/since \S+/, 'since another-boot'))
  expect(await findAge(path, 'down\nagain')).toBeUndefined()
  expect(written).toEqual([...once, ...once])
})
