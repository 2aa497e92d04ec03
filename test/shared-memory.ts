// What killed PostgreSQL servers of tests leave in the kernel's memory: it is found by their services' own users, or while they run.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { textOrNothing } from '#providers/host/read.ts'
import { ensureSharedMemoryRemoved } from '#providers/local/postgres/shared-memory.ts'

/** Above it is one user a service; it is that of all embedded metadata stores. */
export const store_uid = 70_000

/** Of the services in this folder. */
export function usersOf(services: string): Set<number> {
  const paths = existsSync(services) ? readdirSync(services) : []
  const inside = paths.flatMap((name) => readdirSync(join(services, name)).map((entry) => join(services, name, entry)))
  const owners = inside.map((path) => statSync(path, { throwIfNoEntry: false })?.uid ?? 0)
  return new Set(owners.filter((uid) => uid > store_uid))
}

/** When nothing of them runs any more. */
export async function removeSharedMemory(users: Iterable<number>): Promise<void> {
  for (const uid of users) await ensureSharedMemoryRemoved(async () => undefined, { uid, gid: uid })
}

/** Of servers that are to be killed, as a user that they share with others: to be asked while their processes run. */
export function sharedMemoryOf(pids: readonly number[]): { remove: () => void } {
  const maps = pids.map((pid) => textOrNothing(`/proc/${pid}/maps`)).join('')
  const files = new Set(maps.match(/\/dev\/shm\/PostgreSQL\.\d+/g))
  // The kernel shows the id of a segment where files have their inode.
  const ids = new Set([...maps.matchAll(/ (\d+) +\/SYSV/g)].map(([, id = '']) => id))
  return {
    remove: () => {
      for (const file of files) rmSync(file, { force: true })
      for (const id of listSegments()) if (ids.has(id)) spawnSync('ipcrm', ['-m', id], { stdio: 'ignore' })
    },
  }
}

/** The ids of those that are there; a server that ended by itself has freed its own. */
const listSegments = () =>
  readFileSync('/proc/sysvipc/shm', 'latin1')
    .split('\n')
    .map((line) => line.trim().split(/\s+/)[1] ?? '')
