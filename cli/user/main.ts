// The user's commands: they work on the API of any server, with a login, and know nothing of a data directory.
import { Fault } from '#contract/fault.ts'
import { path_ids } from '#contract/id.ts'
import { NoAnswerError } from '#contract/retry.ts'
import { CommandError, exit_codes, findCommand, type Input, type Row } from '../command.ts'
import { parseInput } from '../parse.ts'
import { commands_by_hand } from './by-hand.ts'
import { derivedCommands } from './command-of.ts'
import type { Context, UserCommand } from './context.ts'
import { first_nouns, noun_aliases } from './extras.ts'
import { optionNameOf } from './request-of.ts'
import { openSession, type Session, type Surroundings } from './session.ts'

/** A command by hand comes instead of the derived command of its name. */
export const user_commands: readonly UserCommand[] = [
  ...derivedCommands().filter(({ name }) => !commands_by_hand.some((by_hand) => by_hand.name === name)),
  ...commands_by_hand,
].toSorted((a, b) => rankOf(a) - rankOf(b))

function rankOf({ name }: Row): number {
  const rank = first_nouns.indexOf(name.split(' ')[0] ?? '')
  return rank === -1 ? first_nouns.length : rank
}

/** A noun may have a short name. */
export function unaliased(words: readonly string[]): readonly string[] {
  return words.map((word, at) => (at === 0 ? (noun_aliases[word] ?? word) : word))
}

export async function runUserCommand(
  command: UserCommand,
  words: readonly string[],
  around: Surroundings,
): Promise<void | number> {
  const input = parseInput(command, words)
  try {
    return await command.run(newContext(input, around))
  } catch (error) {
    throw inWords(error, input, command)
  }
}

export async function runComplete(words: readonly string[], more: readonly Row[], around: Surroundings): Promise<void> {
  const { complete } = await import('./completion.ts')
  const found = await complete(unaliased(words), [...user_commands, ...more], (given, row) =>
    newContext(lenientInput(row, given), around),
  )
  if (found.length > 0) console.log(found.join('\n'))
}

function newContext(input: Input, around: Surroundings): Context {
  let session: Promise<Session> | undefined
  return {
    input,
    around,
    terminal: around.openTerminal(input),
    session: (as) => (session ??= openSession(input, around, as)),
  }
}

/** Of a line that is still being typed: only what is written so far, and nothing is refused. */
function lenientInput({ options = {} }: Row, words: readonly string[]): Input {
  const text = (name: string) => {
    const at = words.indexOf(`--${name}`)
    return at === -1 || options[name] === undefined ? undefined : words[at + 1]
  }
  const nothing = { texts: () => [], rest: [], isSet: (name: string) => words.includes(`--${name}`) }
  return { ...nothing, text, need: (name) => text(name) ?? '' }
}

const exit_by_status: Readonly<Record<number, number>> = {
  400: exit_codes.refused,
  401: exit_codes.no_login,
  403: exit_codes.forbidden,
  404: exit_codes.not_found,
}

/** The server's refusal with all its details, a line each. */
function inWords(error: unknown, input: Input, { options }: UserCommand): unknown {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new CommandError('the server does not answer in time; try again', { cause: error })
  }
  if (error instanceof NoAnswerError) return new CommandError(error.message, { cause: error })
  if (!(error instanceof Fault)) return error
  // They follow right below, without the name that the API has for them.
  const [message = ''] = error.details === undefined ? [error.message] : error.message.split('; details ')
  const details = error.details?.split('\n') ?? []
  const lines = [message, ...details.map((line) => `  ${input.isSet('body') ? line : withOptions(line, options)}`)]
  if (error.code === 'UNAUTHORIZED') {
    lines.push(
      process.env['HOWDAH_TOKEN'] && !input.isSet('profile')
        ? '  HOWDAH_TOKEN is not valid there, or not any more; without it the login of howdah login is used'
        : '  the login or the token is not valid any more: howdah login makes a new one',
    )
  }
  if (input.isSet('verbose') && error.request_id !== undefined) lines.push(`  request ${error.request_id}`)
  if (error.message === path_ids.service_id.unknown && options?.['service'] !== undefined && !input.text('service')) {
    lines.push('  it was chosen by howdah use, howdah link or HOWDAH_SERVICE; howdah use <service> chooses another one')
  }
  return new CommandError(lines.join('\n'), {
    exit_code: exit_by_status[error.status] ?? exit_codes.failed,
    cause: error,
  })
}

/** A member by its option, which is what a user wrote or can write: `--cpu: is required`. */
function withOptions(line: string, options: Row['options'] = {}): string {
  return line.replaceAll(/(?<=^|\s)(?:query)?\/([a-z_]+)(?![\w/])/g, (path, member: string) => {
    const option = optionNameOf(member)
    return options[option] === undefined ? path : `--${option}`
  })
}

export function findUserCommand(words: readonly string[]) {
  return findCommand(user_commands, unaliased(words))
}
