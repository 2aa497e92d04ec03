// Which nodes of a replica set get readers, by how far they are behind.
import { expect, test } from 'vitest'
import { countsOf } from './activity.ts'
import { type Lag, type NodeLag, standbyLagsOf, usesByLag } from './lag.ts'

const mib = 1024 ** 2
const well: Lag = { bytes: 1_000, seconds: 0.1 }
const far: Lag = { bytes: 65 * mib, seconds: 1 }
const farther: Lag = { bytes: 900 * mib, seconds: 1 }
const old: Lag = { bytes: 10, seconds: 31 }
const idle: Lag = { bytes: 0, seconds: 3_600 }
const between: Lag = { bytes: 40 * mib, seconds: 1 }

const nodes = (...lags: (Lag | undefined)[]): NodeLag[] => lags.map((lag, node) => ({ node, use: 'in', lag }))
const out = (one: NodeLag[], ...left_out: number[]): NodeLag[] =>
  one.map((each) => (left_out.includes(each.node) ? { ...each, use: 'out' } : each))

test.each([
  ['all that are near', nodes(well, idle), ['in', 'in']],
  ['not one with much to replay', nodes(well, far), ['in', 'out']],
  ['not one whose last commit is old while there are newer ones', nodes(old, well), ['out', 'in']],
  ['not a node that its primary does not know', nodes(undefined, well), ['out', 'in']],
  ['the least late when all are late', nodes(farther, far), ['out', 'in']],
  ['the least late, although nothing is known of another', nodes(undefined, farther), ['out', 'in']],
  ['all when nothing is known of any', nodes(undefined, undefined), ['in', 'in']],
  ['a node that was late when it has nearly caught up', out(nodes(well, well), 1), ['in', 'in']],
  ['not yet a node that was late and is still behind', out(nodes(well, between), 1), ['in', 'out']],
  ['a node that is as far behind, but was never late', nodes(well, between), ['in', 'in']],
])('readers get %s', (_, given, expected) => {
  expect([...usesByLag(given).values()]).toEqual(expected)
})

test('a node that is switched off is left as it is', () => {
  expect([
    ...usesByLag([{ node: 0, use: 'off', lag: well }, ...nodes(far).map((one) => ({ ...one, node: 1 }))]),
  ]).toEqual([[1, 'in']])
})

test('what is no lag of a standby is not taken for one, whatever a program in the place of the primary answers', () => {
  const whole = { name: 'node_1', bytes: 5, seconds: 0.5, state: 'streaming', is_sync: true }
  const wrong = [
    { bytes: '1\nhowdah_services 7' },
    { bytes: Number.NaN },
    { seconds: Number.POSITIVE_INFINITY },
    { name: 7 },
    { name: `node_${'1'.repeat(100)}` },
    { state: '\u001b[2J' },
    { state: null },
  ].map((part) => ({ ...whole, name: 'node_2', ...part }))
  expect([...standbyLagsOf([whole, ...wrong])]).toEqual([
    ['node_1', { bytes: 5, seconds: 0.5, state: 'streaming', is_sync: true }],
  ])
})

test('counts of a server are counts, or none of them is taken', () => {
  const whole = { connections: '3', transactions: '12', blocks_hit: '0', blocks_read: 7 }
  expect(countsOf(whole)).toEqual({ connections: 3, transactions: 12, blocks_hit: 0, blocks_read: 7 })
  for (const value of ['1e300', '1e-300', '-1', '0.5', 'x', undefined, '1\n2']) {
    expect(countsOf({ ...whole, connections: value }), String(value)).toBeUndefined()
  }
})
