// Whether each database has a user of the operating system for itself. A server that runs as root gives it one. Otherwise all run as
// the server's user, and code that breaks out of one database is inside all of them, unless the host gives that user sub ids
// (/etc/subuid): then an installation can be isolated. What the host lacks for that is found by trying.
import { randomInt } from 'node:crypto'
import { userInfo } from 'node:os'
import { messageOf } from '../host/message.ts'
import { readIfThere } from '../host/read.ts'
import { mayGiveUsers } from '../host/privilege.ts'
import { findProgram } from '../host/program.ts'
import { first_port, lastPortOf, marks, newUserMap, type SubIds, subIdsFor, type UserMap } from '../host/user-map.ts'
import { tryUserNamespace } from './host/user-namespace.ts'
import { permit_user_namespaces } from './vpc/refusal.ts'

const shared =
  'all databases run as this user, so only PostgreSQL itself keeps a tenant from the other databases, the metadata store and the keys'

export const sharedUserFinding = (): string => `running as user ${process.getuid?.()}: ${shared}`

/** For a server that runs; none when each database has a user of its own. */
export function sharedUserWarnings(): string[] {
  return mayGiveUsers()
    ? []
    : [
        `${shared}; run the server as root, or start a new data directory with --isolate, to give each database a user of its own`,
      ]
}

/** What this host lacks, and how to get it. */
export type Lack = { finding: string; remedy: string }

const programs = [
  ['newuidmap', 'uidmap'],
  ['newgidmap', 'uidmap'],
  ['nsenter', 'util-linux'],
  ['unshare', 'util-linux'],
] as const
const permit_programs =
  'newuidmap and newgidmap must keep the setuid bits or capabilities of their package, and the server must be free to use them: no NoNewPrivileges=, no nosuid'
/** As many as useradd gives a user. */
const sub_ids_usual = 65_536

/** The users of a new installation whose services have ports up to this one. */
export async function newIsolation(last_port: number): Promise<{ map: UserMap } | { lack: Lack }> {
  for (const [program, debian_package] of programs) {
    if ((await findProgram(program)) !== undefined) continue
    return { lack: { finding: `the program ${program} is missing`, remedy: `apt-get install ${debian_package}` } }
  }
  const user = findUser()
  if (user === undefined) {
    const finding = `user ${process.getuid?.()} has no entry in /etc/passwd, and newuidmap gives sub ids by its name`
    return { lack: { finding, remedy: 'run the server as a user that has one' } }
  }
  const sub = { uids: await findSubIds('/etc/subuid', user), gids: await findSubIds('/etc/subgid', user) }
  const too_few = tooFew('/etc/subuid', user, sub.uids, last_port) ?? tooFew('/etc/subgid', user, sub.gids, last_port)
  if (too_few !== undefined) return { lack: too_few }
  const newMap = () => newUserMap(user, sub, randomInt(marks.first, marks.end))
  try {
    // With another mark, so that leftovers of the trial are not taken for the installation's own.
    await tryUserNamespace(newMap())
    return { map: newMap() }
  } catch (error) {
    const reason = messageOf(error)
    const remedy = /^new[ug]idmap: /.test(reason) ? permit_programs : permit_user_namespaces
    return { lack: { finding: `a user namespace with sub ids cannot be made (${reason})`, remedy } }
  }
}

/** Pure: the ids of a text in the form of /etc/subuid that are this user's; of several ranges the largest. */
export function subIdsOf(text: string, { username, uid }: Pick<User, 'username' | 'uid'>): SubIds {
  const rows = text.split('\n').map((line) => /^([^:]+):(\d+):(\d+)\s*$/.exec(line))
  const own = rows.filter((row) => row?.[1] === username || row?.[1] === String(uid))
  const ranges = own.map((row) => ({ first: Number(row?.[2]), count: Number(row?.[3]) }))
  return ranges.toSorted((one, other) => other.count - one.count)[0] ?? { first: 0, count: 0 }
}

/** A sentence when a service could get a port that has no user. */
export function portsRefusal({ uids, gids }: UserMap, last_port: number): string | undefined {
  const last = Math.min(lastPortOf(uids) ?? 0, lastPortOf(gids) ?? 0)
  if (last_port <= last) return undefined
  return `the sub ids of this data directory give users to ports up to ${last}; choose --service-ports that end there`
}

type User = { username: string; uid: number; gid: number }

function findUser(): User | undefined {
  try {
    return userInfo()
  } catch {
    return undefined
  }
}

const findSubIds = async (file: string, user: User) => subIdsOf((await readIfThere(file)) ?? '', user)

function tooFew(file: string, { username }: User, { count }: SubIds, last_port: number): Lack | undefined {
  const needed = subIdsFor(last_port)
  if (count >= needed) return undefined
  const flag = file === '/etc/subuid' ? '--add-subuids' : '--add-subgids'
  const fewer = count >= subIdsFor(first_port) ? `, or choose --service-ports up to ${count - 1}` : ''
  return {
    finding: `${file} gives ${username} ${count === 0 ? 'no sub ids' : `${count} sub ids in one range`}, and service ports up to ${last_port} need ${needed}`,
    remedy: `as root: usermod ${flag} <first>-<last> ${username}, with ${sub_ids_usual} ids that no user has${fewer}`,
  }
}
