// Every command there is, and how the first words name one. All are loaded for any of them, so each loads by itself, when it runs,
// what takes long: the contract with its schemas, the store, the server.
import { type Command, UsageError } from './command.ts'
import { doctor } from './doctor.ts'
import { keyRotate } from './key.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import { projectCreate, projectList } from './project.ts'
import { start } from './start.ts'
import { status } from './status.ts'
import { stop } from './stop.ts'
import { tokenCreate, tokenList, tokenRevoke } from './token.ts'
import { userCreate, userList, userResetPassword } from './user.ts'
import { vpcExec, vpcList } from './vpc.ts'
import { whoami } from './whoami.ts'

export const commands: readonly Command[] = [
  start,
  status,
  stop,
  doctor,
  login,
  logout,
  whoami,
  tokenCreate,
  tokenList,
  tokenRevoke,
  projectCreate,
  projectList,
  userCreate,
  userResetPassword,
  userList,
  vpcList,
  vpcExec,
  keyRotate,
]

/** The command and the words that are left for it. */
export function findCommand(words: readonly string[]): { command: Command; rest: readonly string[] } {
  const command = commands.find(({ name }) => name.split(' ').every((word, index) => words[index] === word))
  if (command !== undefined) return { command, rest: words.slice(command.name.split(' ').length) }
  const noun = commands.filter(({ name }) => name.startsWith(`${words[0]} `))
  if (noun.length > 0) throw new UsageError(`say which: ${noun.map(({ name }) => `howdah ${name}`).join(', ')}`)
  throw new UsageError(`there is no command ${JSON.stringify(words[0])}; howdah help lists them all`)
}
