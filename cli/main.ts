// The howdah command: finds the command, runs it, and turns what goes wrong into one line and an exit code.
// 0: done. 1: could not be done. 2: written wrongly. A stack is never shown.
import { ConfigError } from '#server/config.ts'
import { version } from '#server/version.ts'
import { UsageError } from './command.ts'
import { commands, findCommand } from './commands.ts'
import { commandHelp, generalHelp } from './help.ts'
import { parseInput } from './parse.ts'

// A closed pipe (`howdah token list | head -1`) is no error of ours.
process.stdout.on('error', () => process.exit(0))

process.exitCode = await run(process.argv.slice(2))

async function run(words: readonly string[]): Promise<number> {
  try {
    const code = await dispatch(words)
    return typeof code === 'number' ? code : 0
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    console.error(`howdah: ${message}`)
    return error instanceof UsageError || error instanceof ConfigError ? 2 : 1
  }
}

async function dispatch(words: readonly string[]): Promise<void | number> {
  const first = words[0]
  if (first === undefined || first === '--help' || first === '-h') return console.log(generalHelp(commands))
  if (first === 'version' || first === '--version') return console.log(version)
  if (first === 'help') return console.log(helpOn(words.slice(1)))
  const { command, rest } = findCommand(words)
  // What follows -- is for another program.
  const own = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest
  if (own.includes('--help') || own.includes('-h')) return console.log(commandHelp(command))
  return command.run(parseInput(command, rest, process.env))
}

function helpOn(words: readonly string[]): string {
  return words.length === 0 ? generalHelp(commands) : commandHelp(findCommand(words).command)
}
