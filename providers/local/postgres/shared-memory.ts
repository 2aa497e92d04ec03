// The shared memory that a killed postmaster leaves in the kernel. The next start of the same data directory clears it
// away; for a service that is deleted instead, this does. Only where a service has a user of its own can its memory
// be told from its neighbours'.
import { execFile } from 'node:child_process'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Effect } from '../effect.ts'
import { readIfThere, statIfThere } from '../look.ts'
import { system_env } from '../program.ts'
import type { Owner } from '../layout.ts'

const folder = '/dev/shm'

export async function ensureSharedMemoryGone(effect: Effect, owner: Owner): Promise<void> {
  // Another installation of this host may run a service under the same user, for the port was free: then nothing is ours.
  if (await someoneRunsAs(owner)) return
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.startsWith('PostgreSQL.'))
  for (const path of names.map((name) => join(folder, name))) {
    if ((await statIfThere(path))?.uid !== owner.uid) continue
    await effect('shared memory: remove')
    await rm(path, { force: true })
  }
  for (const id of segmentsOf((await readIfThere('/proc/sysvipc/shm')) ?? '', owner)) {
    await effect('shared memory: remove')
    // Fails when somebody else was faster, and where the tool is missing: then 56 bytes stay until the next boot.
    await promisify(execFile)('ipcrm', ['-m', id], { env: system_env }).catch(() => undefined)
  }
}

async function someoneRunsAs(owner: Owner): Promise<boolean> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const running = await Promise.all(
    pids.map(async (pid) => {
      if ((await statIfThere(`/proc/${pid}`))?.uid !== owner.uid) return false
      // Empty for one that has ended and waits to be reaped.
      return Boolean(await readIfThere(`/proc/${pid}/cmdline`))
    }),
  )
  return running.includes(true)
}

/** The ids of a user's System V segments, from the kernel's table: id in the second column, user in the eighth. */
export function segmentsOf(table: string, owner: Owner): string[] {
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/))
  return rows.filter((row) => row[7] === String(owner.uid)).map((row) => row[1] ?? '')
}
