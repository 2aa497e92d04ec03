// Which rights this process has. Root of the host may do everything. Root of an isolated installation's user namespace may give
// processes and files other users, and is an ordinary user of the host in everything else: networks, routes, quotas, folders.
import { readFileSync } from 'node:fs'
import { lastPortOf, type UserMap } from './user-map.ts'

export const mayGiveUsers = (): boolean => process.getuid?.() === 0

export const isHostRoot = (): boolean => mayGiveUsers() && !is_isolated

/** The ids of a process's user namespace, in the form of a UserMap; empty when there is no such process. */
export function idsOf(pid: number | 'self', kind: 'uid' | 'gid'): string {
  try {
    return readFileSync(`/proc/${pid}/${kind}_map`, 'latin1').trim().split(/\s+/).join(' ')
  } catch {
    return ''
  }
}

/** A process of Node never changes its namespace. */
const is_isolated = lastPortOf(idsOf('self', 'uid')) !== undefined

/** Whether a process, or this one, has the users of that installation. */
export const isInside = (map: UserMap, pid: number | 'self' = 'self'): boolean =>
  idsOf(pid, 'uid') === map.uids && idsOf(pid, 'gid') === map.gids
