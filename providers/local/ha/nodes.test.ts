// Table tests of which nodes a service is to have.
import { expect, test } from 'vitest'
import { nodesOf } from '../postgres/nodes.ts'

test.each([
  ['a service alone', 0, 0, [0], [0]],
  ['the first replicas', 0, 2, [0], [0, 1, 2]],
  ['one more', 0, 2, [0, 1], [0, 1, 2]],
  ['one less: the highest goes', 0, 1, [0, 1, 2], [0, 1]],
  ['after a failover, the same nodes', 1, 1, [0, 1], [1, 0]],
  ['the lost one has no data any more', 1, 1, [1], [1, 0]],
  ['shrunk while another one was the primary', 2, 1, [0, 1, 2], [2, 0]],
  ['and then failed over: what there is stays', 0, 1, [0, 2], [0, 2]],
  ['a replica that lost its data is made anew beside the other', 0, 2, [0, 2], [0, 2, 1]],
] as const)('%s', (_, primary, replica_count, with_data, nodes) => {
  expect(nodesOf(primary, replica_count, with_data)).toEqual(nodes)
})
