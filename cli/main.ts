// The howdah command: finds the command, runs it, and turns what goes wrong into one line and an exit code.
// 0: done. 1: could not be done. 2: written wrongly. A stack is never shown; HOWDAH_LOG_LEVEL=debug is for bugs.
import { ConfigError } from '#server/config.ts'
import { version } from '#server/version.ts'
import { type Command, UsageError } from './command.ts'
import { doctor } from './doctor.ts'
import { commandHelp, generalHelp } from './help.ts'
import { parseInput } from './parse.ts'
import { projectCreate, projectList } from './project.ts'
import { start } from './start.ts'
import { status } from './status.ts'
import { stop } from './stop.ts'
import { tokenCreate, tokenList, tokenRevoke } from './token.ts'
import { userCreate, userList } from './user.ts'

const commands: readonly Command[] = [
  start,
  status,
  stop,
  doctor,
  tokenCreate,
  tokenList,
  tokenRevoke,
  projectCreate,
  projectList,
  userCreate,
  userList,
]

// A reader that went away (`howdah token list | head -1`) is no error of ours.
process.stdout.on('error', () => process.exit(0))

process.exitCode = await run(process.argv.slice(2))

async function run(words: readonly string[]): Promise<number> {
  try {
    await dispatch(words)
    return 0
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    console.error(`howdah: ${message}`)
    return error instanceof UsageError || error instanceof ConfigError ? 2 : 1
  }
}

async function dispatch(words: readonly string[]): Promise<void> {
  const first = words[0]
  if (first === undefined || first === '--help' || first === '-h') return console.log(generalHelp(commands))
  if (first === 'version' || first === '--version') return console.log(version)
  if (first === 'help') return console.log(helpOn(words.slice(1)))
  const command = findCommand(words)
  const rest = words.slice(command.name.split(' ').length)
  if (rest.includes('--help') || rest.includes('-h')) return console.log(commandHelp(command))
  await command.run(parseInput(command, rest, process.env))
}

function helpOn(words: readonly string[]): string {
  return words.length === 0 ? generalHelp(commands) : commandHelp(findCommand(words))
}

function findCommand(words: readonly string[]): Command {
  const found = commands.find((command) => command.name.split(' ').every((word, index) => words[index] === word))
  if (found !== undefined) return found
  const noun = commands.filter((command) => command.name.startsWith(`${words[0]} `))
  if (noun.length > 0) throw new UsageError(`say which: ${noun.map((command) => `howdah ${command.name}`).join(', ')}`)
  throw new UsageError(`there is no command ${JSON.stringify(words[0])}; howdah help lists them all`)
}
