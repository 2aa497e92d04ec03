// All nodes of one service together: how they are stopped and killed.
// The primary stops first and sends everything to the others before it exits, so that each of them has it.
import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { ensureRemoved } from '../host/effect.ts'
import { ensureGroupRemoved, last_words_ms, newLeftovers, type Spared } from '../host/leftovers.ts'
import { findLock } from '../host/lock.ts'
import { groupOf, type Node } from '../host/layout.ts'
import type { HaHost } from './ha-host.ts'
import { listNodes } from '../postgres/nodes.ts'
import { ensureKilled, ensureStopped } from '../postgres/process.ts'

/** Whether some process is copying this node's data. */
export async function isBeingMade(node: Node): Promise<boolean> {
  return (await findLock({ ...node, copying: node.making })) !== undefined
}

/** A sentence while a node is still stopping. After the last of them all that they started is killed. */
export async function ensureNodesStopped(
  host: HaHost,
  primary: Node,
  scope: 'service' | 'set',
  spared?: Spared,
): Promise<string | undefined> {
  const leftovers = await newLeftovers(host, primary, scope, spared)
  for (const node of await listNodes(primary)) {
    const waiting_for = await ensureStopped(host.effect, node)
    if (waiting_for !== undefined) return waiting_for
  }
  await leftovers.end(last_words_ms)
  return undefined
}

/** Kills all processes, of a service also the other processes of its user, and removes what lies outside its home. */
export async function ensureNodesKilled(host: HaHost, primary: Node, scope: 'user' | 'set'): Promise<void> {
  const { effect } = host
  const leftovers = await newLeftovers(host, primary, scope)
  for (const node of await listNodes(primary)) await ensureKilled(effect, node)
  await leftovers.end(0)
  await effect('limits: remove')
  await removeLimits(host, primary)
  const run = dirname(primary.service_sockets)
  const prefix = `${basename(primary.service_sockets)}.`
  for (const name of (await readdir(run)).filter((one) => one.startsWith(prefix))) {
    await ensureRemoved(effect, 'socket folder', join(run, name))
  }
}

/** The control groups of all its nodes. Nothing may run in them any more. */
export async function removeLimits(host: HaHost, primary: Node): Promise<void> {
  for (const node of await listNodes(primary)) await ensureGroupRemoved(host, groupOf(node))
}
