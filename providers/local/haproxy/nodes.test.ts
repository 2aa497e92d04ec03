// What HAProxy says of its nodes, read.
import { expect, test } from 'vitest'
import { usesOf } from './nodes.ts'

/** As HAProxy 2.6 prints it, with fewer columns. */
const answer = [
  '1',
  '# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight',
  '2 nodes 1 node_0 - 2 0 1',
  '2 nodes 2 node_1 - 2 8 1',
  '2 nodes 3 node_2 - 0 1 1',
  '2 nodes 4 node_3 - 0 0 1',
  '2 nodes 5 node_10 - 0 9 1',
  '',
  '',
].join('\n')

test('the use of each node is read from what HAProxy says of its servers', () => {
  expect([...usesOf(answer)]).toEqual([
    [0, { use: 'in', well: true }],
    [1, { use: 'out', well: true }],
    [2, { use: 'off', well: false }],
    [3, { use: 'in', well: false }],
    [10, { use: 'off', well: false }],
  ])
})
