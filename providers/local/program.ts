// Programs of the operating system that some features need, found by looking at each use: whoever installs one need not
// start the server anew.
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

/** Debian puts servers into /usr/sbin, which ordinary users do not search. */
export async function findProgram(program: string): Promise<string | undefined> {
  const searched = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin', '/usr/bin']
  for (const directory of searched.filter(Boolean)) {
    const path = join(directory, program)
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (found) return path
  }
  return undefined
}
