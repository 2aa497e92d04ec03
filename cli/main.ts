// The howdah command: finds the command and runs it. There are two worlds, and a command never guesses between them: a user's commands
// know the API, an operator's know the data directory. Each world is loaded when it is chosen, so that a user's command starts as fast as
// its request.
import { join } from 'node:path'
import { version } from '#contract/version.ts'
import { exit_codes, findCommand, type Input, type Row } from './command.ts'
import { helpOn, helpWords, unknownCommand } from './help.ts'
import { exitCodeOf } from './outcome.ts'
import { watchStreams } from './streams.ts'

const operator_words = ['start', 'status', 'stop', 'doctor', 'admin']
const own_command = join(import.meta.dirname, '..', 'bin', 'howdah')

watchStreams({ is_server: process.argv[2] === 'start' })

process.exitCode = await exitCodeOf(dispatch(process.argv.slice(2)))

async function dispatch(words: readonly string[]): Promise<void | number> {
  const [first = 'help'] = words
  if (first === 'version' || first === '--version') return console.log(version)
  const explained = first === '__complete' ? undefined : helpWords(words)
  if (explained !== undefined) return console.log(await help(explained))
  return operator_words.includes(first) ? await runOperator(words) : await runUser(words)
}

async function runOperator(words: readonly string[]): Promise<void | number> {
  const { operator_commands, parseOperatorInput } = await import('./operator.ts')
  const found = findCommand(operator_commands, words)
  if (found === undefined) throw unknownCommand(words, operator_commands)
  return found.command.run(parseOperatorInput(found.command, found.rest, process.env))
}

async function runUser(words: readonly string[]): Promise<void | number> {
  const { findUserCommand, runComplete, runUserCommand, unaliased, user_commands } = await import('./user/main.ts')
  const { openTerminal } = await import('./user/terminal.ts')
  const around = { version, command: own_command, findLocalServer, openTerminal: (input: Input) => openTerminal(input) }
  if (words[0] === '__complete') {
    const others =
      words[1] === 'admin' ? (await import('./operator.ts')).operator_commands : operator_words.map(namedOnly)
    await runComplete(words.slice(1), others, around)
    // A request that came too late is not waited for.
    process.exit(exit_codes.done)
  }
  const found = findUserCommand(words)
  if (found === undefined) throw unknownCommand(unaliased(words), user_commands)
  return runUserCommand(found.command, found.rest, around)
}

function namedOnly(name: string): Row {
  return { name, summary: '' }
}

/** Of the data directory that is this user's, or that the environment names. */
async function findLocalServer(): Promise<string | undefined> {
  const { loadConfig } = await import('#server/config.ts')
  const { findServing } = await import('./running.ts')
  try {
    return findServing(loadConfig([], process.env).data_dir)
  } catch {
    return undefined
  }
}

async function help(words: readonly string[]): Promise<string> {
  const { unaliased, user_commands } = await import('./user/main.ts')
  const { admin_commands, server_commands, settingsHelpFor } = await import('./operator.ts')
  return helpOn(unaliased(words), [
    { title: 'Use a server (with a login)', commands: user_commands },
    { title: 'Run a server', commands: server_commands, footerOf: settingsHelpFor },
    { title: 'Administer a data directory', commands: admin_commands, footerOf: settingsHelpFor },
  ])
}
