// Table tests of the file that lists regions: what is read, and what is refused with which words.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseRegionFile } from './region-file.ts'

function fileWith(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-regions-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'regions.json')
  writeFileSync(path, text)
  return path
}

const local = { region_code: 'here', provider: 'local' }

test('without a file there is none, and with one its regions come in their order', () => {
  expect(parseRegionFile('')).toBeUndefined()
  const rows = [
    { ...local, copy_host: 'db.example.com' },
    { region_code: 'there-2', provider: 'memory', delay_seconds: 2 },
  ]
  expect(parseRegionFile(fileWith(JSON.stringify(rows)))).toEqual(rows)
})

test('the members of a Kubernetes region are kept for its provider, with the file that they are in', () => {
  const path = fileWith(JSON.stringify([{ region_code: 'eu-1', provider: 'kubernetes', host: 'pg.example.org' }]))
  const members = { host: 'pg.example.org' }
  expect(parseRegionFile(path)).toEqual([{ region_code: 'eu-1', provider: 'kubernetes', members, near: path }])
})

test.each([
  ['{', /must name a JSON file/],
  ['{}', /is no list with an entry/],
  ['[]', /is no list with an entry/],
  ['[1]', /entry 1 is no object/],
  [
    JSON.stringify([local, { region_code: 'a', provider: 'cloud' }]),
    /entry 2 needs a provider, one of kubernetes, local, memory/,
  ],
  [JSON.stringify([{ provider: 'memory' }]), /entry 1 needs a region_code/],
  [JSON.stringify([{ region_code: 'A!', provider: 'memory' }]), /entry 1 has a region_code that must be 1 to 64/],
  [
    JSON.stringify([{ ...local, size: 3 }]),
    /entry 1 has the unknown member size; known are region_code, provider, delay_seconds, copy_host/,
  ],
  [JSON.stringify([{ ...local, delay_seconds: 1 }]), /entry 1 has a delay_seconds, which goes with memory only/],
  [JSON.stringify([{ region_code: 'a', provider: 'memory', delay_seconds: -1 }]), /must be a number from 0 to 86400/],
  [JSON.stringify([{ ...local, copy_host: 'a b' }]), /entry 1 has a copy_host that must be a name or an address/],
  [
    JSON.stringify([{ region_code: 'a', provider: 'memory', copy_host: 'a' }]),
    /entry 1 has a copy_host, which goes with local only/,
  ],
  [JSON.stringify([local, { ...local, provider: 'memory' }]), /the region here twice/],
  [JSON.stringify([local, { ...local, region_code: 'b' }]), /more than one region with the provider local/],
])('%s is refused', (text, problem) => {
  expect(() => parseRegionFile(fileWith(text))).toThrow(problem)
})

test('a file that is not there is refused', () => {
  expect(() => parseRegionFile('/nowhere/regions.json')).toThrow(/must name a JSON file .* ENOENT/)
})
