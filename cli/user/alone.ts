// A user's commands on a machine where no server is installed: what is bundled for the action, and packed as a package of its own. There is
// no operator's world here.
import { version } from '#contract/version.ts'
import { helpOn, helpWords, unknownCommand } from '../help.ts'
import { exitCodeOf } from '../outcome.ts'
import { watchStreams } from '../streams.ts'
import { findUserCommand, runComplete, runUserCommand, unaliased, user_commands } from './main.ts'
import { openTerminal } from './terminal.ts'

/** The file that runs, as the shell found it. */
const own_command = process.argv[1] ?? 'howdah'
const around = { version, command: own_command, findLocalServer: async () => undefined, openTerminal }

export function runAlone(words: readonly string[]): Promise<number> {
  watchStreams({ is_server: false })
  return exitCodeOf(dispatch(words))
}

async function dispatch(words: readonly string[]): Promise<void | number> {
  const [first, ...others] = words
  if (first === 'version' || first === '--version') return console.log(version)
  if (first === '__complete') return await runComplete(others, [], around)
  const explained = helpWords(words)
  if (explained !== undefined) {
    const groups = [{ title: 'Use a server (with a login)', commands: user_commands }]
    return console.log(helpOn(unaliased(explained), groups))
  }
  const found = findUserCommand(words)
  if (found === undefined) throw unknownCommand(unaliased(words), user_commands)
  return await runUserCommand(found.command, found.rest, around)
}
