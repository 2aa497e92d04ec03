// The last steps of data that was made aside: it is handed over, made durable, and renamed into place.
import { lchownSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import type { Effect } from '../host/effect.ts'
import type { Node } from '../host/layout.ts'
import { syncOne } from '../../host/sync.ts'
import { syncTree } from '../host/tree.ts'

/** `what`: in the names of the effects. */
export async function putDataInPlace(effect: Effect, node: Node, what: 'fork' | 'restore'): Promise<void> {
  // The last of it to be handed over: until now no other user could enter it.
  if (node.owner) lchownSync(node.data_aside, node.owner.uid, node.owner.gid)
  await effect(`${what}: make durable`)
  await syncTree(node.data_aside)
  await effect(`${what}: rename into place`)
  await rename(node.data_aside, node.data)
  await syncOne(node.home)
}
