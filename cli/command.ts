// What a command is: a row of data with one function. Parsing, help texts, completion and usage errors are derived from the row.
// A command prints its result on stdout and returns; what goes wrong is thrown, and main.ts makes it one line.

export type Option = {
  /** The value's name in the help text; absent for a switch. */
  value?: string
  /** `--pooled` and `--pooled=transaction` are both right. */
  value_optional?: true
  /** One letter: `-o json`. */
  short?: string
  required?: true
  repeatable?: true
  choices?: readonly string[]
  description: string
  /** The API's name for it, where that is another one. */
  member?: string
}

export type Options = Readonly<Record<string, Option>>

export type Positional = {
  name: string
  optional?: true
  /** An option of the same name may stand for it. */
  or_option?: true
}

export type Row = {
  /** One to three words: `status`, `service create`, `admin token create`. */
  name: string
  /** Other words for the last one. */
  aliases?: readonly string[]
  summary: string
  positionals?: readonly Positional[]
  options?: Options
  /** An option that stands for all required ones. */
  whole?: string
  /** What follows `--`, by its name in the help text; not ours to read. */
  rest?: { name: string; optional?: true }
  /** Further sentences for `howdah help <command>`. */
  details?: string
}

export type Input = {
  /** An option's value, or a positional's. */
  text: (name: string) => string | undefined
  /** All values of a repeatable option. */
  texts: (name: string) => readonly string[]
  /** The same for what is required: parsing has refused its absence. */
  need: (name: string) => string
  isSet: (option: string) => boolean
  rest: readonly string[]
}

/** A command of the one world or the other: see operator.ts and user/main.ts. A number is the exit code. */
export type Command<Given> = Row & { run(given: Given): Promise<void | number> }

export const exit_codes = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  no_login: 4,
  forbidden: 5,
  not_found: 6,
  timeout: 7,
  not_as_wanted: 8,
  interrupted: 130,
} as const

/** The command was written wrongly, or a question has no answer. */
export class UsageError extends Error {}

/** The command was right and could not be done; the message says what to do. */
export class CommandError extends Error {
  readonly exit_code: number

  constructor(message: string, more: { exit_code?: number; cause?: unknown } = {}) {
    super(message, { cause: more.cause })
    this.exit_code = more.exit_code ?? exit_codes.failed
  }
}

export const json_option = { json: { description: 'Print JSON.' } } as const satisfies Options

export const required = (...names: string[]): Positional[] => names.map((name) => ({ name }))

/** The command that the first words name, and the words that are left for it. */
export function findCommand<C extends Row>(commands: readonly C[], words: readonly string[]) {
  const fitting = commands.filter((row) => namesOf(row).some((name) => begins(words, name)))
  // `mcp install` before `mcp`.
  const [command] = fitting.toSorted((a, b) => b.name.split(' ').length - a.name.split(' ').length)
  if (command === undefined) return undefined
  return { command, rest: words.slice(command.name.split(' ').length) }
}

/** Its name, and that with each alias for the last word. */
export function namesOf({ name, aliases = [] }: Row): string[] {
  const before = name.split(' ').slice(0, -1)
  return [name, ...aliases.map((alias) => [...before, alias].join(' '))]
}

function begins(words: readonly string[], name: string): boolean {
  return name.split(' ').every((word, index) => words[index] === word)
}
