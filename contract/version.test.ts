// Which version is older, and that a program says so once.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isOlder, version, version_header, withVersionWatch } from './version.ts'

test('the version is that of the package', () => {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  expect(JSON.parse(text)).toMatchObject({ version })
})

test.each([
  ['0.1.0', '0.1.0', false],
  ['0.1.0', '0.1.1', true],
  ['0.9.0', '0.10.0', true],
  ['1.0.0', '0.10.9', false],
  ['2.0.0-beta.1', '2.0.0', false],
  ['nonsense', '0.0.1', true],
])('%s is older than %s: %s', (one, other, older) => {
  expect(isOlder(one, other)).toBe(older)
})

test('an older server is told of once, and any other one never', async () => {
  const servers = ['0.2.0', '0.1.0', '0.0.9', undefined, '0.1.0']
  const send = async () => {
    const theirs = servers.shift()
    return new Response('', theirs === undefined ? {} : { headers: { [version_header]: theirs } })
  }
  const told: string[] = []
  const watched = withVersionWatch(send, '0.1.0', (theirs) => told.push(theirs))
  for (let asked = 0; asked < 5; asked += 1) await watched('http://127.0.0.1/')
  expect(told).toEqual(['0.0.9'])
})
