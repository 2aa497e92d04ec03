// Programs of the operating system that some features need, searched at each use: an administrator who installs one need not
// start the server anew. Root runs programs only from folders where only root can put them: the PATH of the caller that started the server
// names no program for root, nor for root of a user namespace, whose services could not reach them. An ordinary user runs its own
// programs as itself, so its PATH counts.
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { mayGiveUsers } from './privilege.ts'

/** Debian puts servers into sbin, which ordinary users do not search; programs that an administrator built are below /usr/local. */
const system_folders = ['/usr/sbin', '/usr/bin', '/sbin', '/bin', '/usr/local/sbin', '/usr/local/bin']

/** The environment of every program of the system that is run by its name alone. */
export const system_env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

export async function findProgram(program: string): Promise<string | undefined> {
  const own = mayGiveUsers() ? [] : (process.env.PATH ?? '').split(delimiter)
  for (const directory of [...own, ...system_folders].filter(Boolean)) {
    const path = join(directory, program)
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (found) return path
  }
  return undefined
}
