// Ends a node of a service for good, before another one takes its place: every process that works on its data, also the
// ones that do not notice the death of their postmaster, also when they are stopped or their directory was moved away.
// Returns only when each was seen to run no more, because one that lived on could still acknowledge a commit. A killed process that
// gives back its memory is not waited for: the kernel runs nothing of its program then.
import { statSync } from 'node:fs'
import { readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { commandOf, endProcesses } from '../../host/daemon.ts'
import type { Effect } from '../host/effect.ts'
import { isAtWork } from '../../host/process.ts'
import type { Node } from '../host/layout.ts'

const patience_ms = 8_000

export async function ensureFenced(effect: Effect, node: Node): Promise<void> {
  const whose = `service ${node.service_id}`
  const belongs = async (pid: number) => (await isOf(node, pid)) && isAtWork(pid)
  await endProcesses(effect, belongs, { what: 'fence: kill', whose, wait_ms: patience_ms })
}

async function isOf(node: Node, pid: number): Promise<boolean> {
  // At once: most processes of a host are other people's, and a detour through other threads for each would take longer.
  const uid = node.owner && statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid
  const words = uid === node.owner?.uid || uid === 0 ? await commandOf(pid) : []
  const at = words.indexOf('-D')
  // Also one that is still on its way to its own user and its program.
  if (at > 0 && words[at + 1] === node.data && words[at - 1]?.endsWith('/postgres')) return true
  if (uid !== node.owner?.uid) return false
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '')
  if (cwd === node.data || cwd === `${node.data} (deleted)`) return true
  // Its directory was moved away: it is of the service, and not in the directory of any other node.
  const titled = words[0]?.startsWith(`postgres: howdah/${node.service_id}/`) === true
  return titled && !(cwd.startsWith(join(node.home, '/')) && cwd.endsWith('/data'))
}
