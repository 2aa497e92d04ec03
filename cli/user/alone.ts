// A user's commands on a machine where no server is installed: what is bundled for the action, and packed as a package of its own. There is
// no operator's world here.
import { version } from '#contract/version.ts'
import { CommandError, exit_codes, findCommand, UsageError } from '../command.ts'
import { sayError } from '../visible.ts'
import { commandHelp, generalHelp, nounHelp } from '../help.ts'
import { watchStreams } from '../streams.ts'
import { findUserCommand, runComplete, runUserCommand, unaliased, unknownCommand, user_commands } from './main.ts'
import { openTerminal } from './terminal.ts'

/** The file that runs, as the shell found it. */
const own_command = process.argv[1] ?? 'howdah'
const around = { version, command: own_command, findLocalServer: async () => undefined, openTerminal }

export async function runAlone(words: readonly string[]): Promise<number> {
  watchStreams({ is_server: false })
  try {
    return (await dispatch(words)) ?? exit_codes.done
  } catch (error) {
    sayError(error)
    if (error instanceof CommandError) return error.exit_code
    return error instanceof UsageError ? exit_codes.usage : exit_codes.failed
  }
}

async function dispatch(words: readonly string[]): Promise<void | number> {
  const [first = 'help', ...others] = words
  if (first === 'version' || first === '--version') return console.log(version)
  if (first === '__complete') return await runComplete(others, [], around)
  const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words
  const asks_help = first === 'help' || own.includes('--help') || own.includes('-h')
  if (asks_help) return console.log(helpOn(own.filter((word) => word !== 'help' && !word.startsWith('-'))))
  const found = findUserCommand(words)
  if (found === undefined) throw unknownCommand(words, user_commands)
  return await runUserCommand(found.command, found.rest, around)
}

function helpOn(words: readonly string[]): string {
  if (words.length === 0)
    return generalHelp(version, [{ title: 'Use a server (with a login)', commands: user_commands }])
  const chosen = unaliased(words)
  const found = findCommand(user_commands, chosen)
  if (found !== undefined) return commandHelp(found.command)
  const of_noun = user_commands.filter(({ name }) => `${name} `.startsWith(`${chosen.join(' ')} `))
  if (of_noun.length > 0) return nounHelp(chosen, of_noun)
  throw unknownCommand(chosen, user_commands)
}
