// What killed PostgreSQL servers of tests leave in the kernel's memory, where their services had users of their own.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ensureSharedMemoryGone } from '#providers/local/postgres/shared-memory.ts'

/** Above it is one user a service; it is that of all embedded metadata stores. */
const store_uid = 70_000

/** Of the services in this folder. */
export function usersOf(services: string): Set<number> {
  const paths = existsSync(services) ? readdirSync(services) : []
  const inside = paths.flatMap((name) => readdirSync(join(services, name)).map((entry) => join(services, name, entry)))
  const owners = inside.map((path) => statSync(path, { throwIfNoEntry: false })?.uid ?? 0)
  return new Set(owners.filter((uid) => uid > store_uid))
}

/** When nothing of them runs any more. */
export async function removeSharedMemory(users: Iterable<number>): Promise<void> {
  for (const uid of users) await ensureSharedMemoryGone(async () => undefined, { uid, gid: uid })
}
