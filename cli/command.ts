// What a command is: a row of data with one function. Parsing, help texts and usage errors are derived from the row.
// A command prints its result on stdout and returns; what goes wrong is thrown, and main.ts makes it one line.
import type { Config } from '#server/config.ts'

export type Option = {
  /** The value's name in the help text; absent for a switch. */
  value?: string
  required?: true
  description: string
}

export type Command = {
  /** One or two words: `status`, `token create`. */
  name: string
  summary: string
  /** Each is required. */
  positionals?: readonly string[]
  options?: Readonly<Record<string, Option>>
  /** What follows `--`, by its name in the help text; required, and not ours to read. */
  rest?: string
  /** Further sentences for `howdah help <command>`. */
  details?: string
  /** A number is the exit code. */
  run(input: Input): Promise<void | number>
}

export type Input = {
  config: Config
  /** An option's value, or a positional's. */
  text: (name: string) => string | undefined
  /** The same for what is required: parsing has refused its absence. */
  need: (name: string) => string
  isSet: (option: string) => boolean
  rest: readonly string[]
}

/** The command was written wrongly: exit code 2. */
export class UsageError extends Error {}

/** The command was right and could not be done: exit code 1, and the message says what to do. */
export class CommandError extends Error {}

export const json_option = { json: { description: 'Print JSON.' } } as const satisfies Record<string, Option>
