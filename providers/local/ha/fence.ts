// Ends a node of a service for good, before another one takes its place: every process that works on its data, also the
// ones that do not notice the death of their postmaster, also when they are stopped or their directory was moved away.
// Returns only when they have been seen gone, because one that lived on could still acknowledge a commit.
import { readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { errorCode, readIfThere, statIfThere, type Effect } from '../effect.ts'
import type { Place } from '../layout.ts'

const look_every_ms = 3
const patience_ms = 8_000

export async function ensureFenced(effect: Effect, place: Place): Promise<void> {
  for (const deadline = Date.now() + patience_ms; ; await pause(look_every_ms)) {
    const left = await processesOf(place)
    if (left.length === 0) return
    if (Date.now() > deadline) throw new Error(`processes ${left.join(', ')} of service ${place.service_id} do not end`)
    await effect('fence: kill')
    for (const pid of left) killIfThere(pid)
  }
}

async function processesOf(place: Place): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const belongs = await Promise.all(pids.map((pid) => isOf(place, pid)))
  return pids.filter((_, at) => belongs[at])
}

async function isOf(place: Place, pid: number): Promise<boolean> {
  const uid = place.owner && (await statIfThere(`/proc/${pid}`))?.uid
  const words = uid === place.owner?.uid || uid === 0 ? await wordsOf(pid) : []
  const at = words.indexOf('-D')
  // Also one that is still on its way to its own user and its program.
  if (at > 0 && words[at + 1] === place.data && words[at - 1]?.endsWith('/postgres')) return true
  if (uid !== place.owner?.uid) return false
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '')
  if (cwd === place.data || cwd === `${place.data} (deleted)`) return true
  // Its directory was moved away: it is of the service, and not in the directory of any other node.
  const titled = words[0]?.startsWith(`postgres: howdah/${place.service_id}/`) === true
  return titled && !(cwd.startsWith(join(place.home, '/')) && cwd.endsWith('/data'))
}

async function wordsOf(pid: number): Promise<string[]> {
  return (await readIfThere(`/proc/${pid}/cmdline`))?.split('\0') ?? []
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error
  }
}
