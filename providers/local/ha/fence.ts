// Fences a node of a service before another node takes over: kills every process that works on its data, also those that
// do not notice the death of their postmaster, are stopped, or whose directory was moved.
// Returns only when none of them runs any more, because a survivor could still acknowledge a commit. A killed process that
// gives back its memory is not waited for: the kernel runs nothing of its program then.
import { statSync } from 'node:fs'
import { readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { commandOf, killProcesses, uidOf } from '../../host/daemon.ts'
import type { Effect } from '../host/effect.ts'
import { isAtWork } from '../../host/process.ts'
import type { Node } from '../host/layout.ts'

const patience_ms = 8_000

export async function ensureFenced(effect: Effect, node: Node): Promise<void> {
  const whose = `service ${node.service_id}`
  const belongs = async (pid: number) => (await isOf(node, pid)) && isAtWork(pid)
  await killProcesses(effect, belongs, { what: 'fence: kill', whose, wait_ms: patience_ms })
}

async function isOf(node: Node, pid: number): Promise<boolean> {
  // Synchronously: most processes of a host belong to other users, and a thread for each read would take longer.
  const uid = statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid
  const own = uidOf(node.owner)
  const words = uid === own || (uid === 0 && node.owner) ? await commandOf(pid) : []
  const at = words.indexOf('-D')
  // Also a process that has not yet changed to its own user and program.
  if (at > 0 && words[at + 1] === node.data && words[at - 1]?.endsWith('/postgres')) return true
  if (uid !== own) return false
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '')
  // Below it a copy of WAL works that has outlived its server.
  if (isBelow(cwd, node.data) || cwd === `${node.data} (deleted)`) return true
  // Its directory was moved: it belongs to the service, and does not work in the directory of any other node.
  const titled = words[0]?.startsWith(`postgres: howdah/${node.service_id}/`) === true
  return titled && !(isBelow(cwd, node.home) && cwd.endsWith('/data'))
}

const isBelow = (path: string, folder: string) => join(path, '/').startsWith(join(folder, '/'))
