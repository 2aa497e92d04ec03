// The howdah command: finds the command, runs it, and turns what goes wrong into one line and an exit code. There are two worlds, and a
// command never guesses between them: a user's commands know the API, an operator's know the data directory. Each world is loaded when it
// is chosen, so that a user's command starts as fast as its request. A stack is never shown.
import { join } from 'node:path'
import { version } from '#contract/version.ts'
import { CommandError, exit_codes, findCommand, type Input, type Row, UsageError } from './command.ts'
import { sayError } from './visible.ts'
import { watchStreams } from './streams.ts'

const operator_words = ['start', 'status', 'stop', 'doctor', 'admin']
const own_command = join(import.meta.dirname, '..', 'bin', 'howdah')

watchStreams({ is_server: process.argv[2] === 'start' })

process.exitCode = await run(process.argv.slice(2))

async function run(words: readonly string[]): Promise<number> {
  try {
    const code = await dispatch(words)
    return typeof code === 'number' ? code : exit_codes.done
  } catch (error) {
    sayError(error)
    if (error instanceof CommandError) return error.exit_code
    const is_usage = error instanceof UsageError || (error instanceof Error && error.name === 'ConfigError')
    return is_usage ? exit_codes.usage : exit_codes.failed
  }
}

async function dispatch(words: readonly string[]): Promise<void | number> {
  const [first] = words
  if (first === undefined || first === '--help' || first === '-h') return console.log(await helpOn([]))
  if (first === 'version' || first === '--version') return console.log(version)
  if (first === 'help') return console.log(await helpOn(words.slice(1)))
  // What follows -- is for another program.
  const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words
  const asks_help = own.includes('--help') || own.includes('-h')
  if (asks_help && first !== '__complete') return console.log(await helpOn(own.filter((word) => !word.startsWith('-'))))
  return operator_words.includes(first) ? await runOperator(words) : await runUser(words)
}

async function runOperator(words: readonly string[]): Promise<void | number> {
  const { operator_commands, parseOperatorInput } = await import('./operator.ts')
  const found = findCommand(operator_commands, words)
  if (found === undefined) throw await unknown(words, operator_commands)
  return found.command.run(parseOperatorInput(found.command, found.rest, process.env))
}

async function runUser(words: readonly string[]): Promise<void | number> {
  const { findUserCommand, runComplete, runUserCommand, user_commands } = await import('./user/main.ts')
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
  if (found === undefined) throw await unknown(words, user_commands)
  return runUserCommand(found.command, found.rest, around)
}

function namedOnly(name: string): Row {
  return { name, summary: '' }
}

async function unknown(words: readonly string[], commands: readonly Row[]): Promise<UsageError> {
  const { unaliased, unknownCommand } = await import('./user/main.ts')
  return unknownCommand(unaliased(words), commands)
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

async function helpOn(words: readonly string[]): Promise<string> {
  const { commandHelp, generalHelp, nounHelp } = await import('./help.ts')
  const { unaliased, unknownCommand, user_commands } = await import('./user/main.ts')
  const { admin_commands, server_commands, settingsHelpFor } = await import('./operator.ts')
  if (words.length === 0) {
    return generalHelp(version, [
      { title: 'Use a server (with a login)', commands: user_commands },
      { title: 'Run a server', commands: server_commands },
      { title: 'Administer a data directory', commands: admin_commands },
    ])
  }
  const chosen = unaliased(words)
  const operator = findCommand([...server_commands, ...admin_commands], chosen)
  const found = operator ?? findCommand(user_commands, chosen)
  if (found !== undefined) return commandHelp(found.command, operator && settingsHelpFor(operator.command))
  const all = [...user_commands, ...admin_commands]
  const of_noun = all.filter(({ name }) => `${name} `.startsWith(`${chosen.join(' ')} `))
  if (of_noun.length > 0) return nounHelp(chosen, of_noun)
  throw unknownCommand(chosen, all)
}
