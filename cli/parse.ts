// From the words of the command line to a command's input: its own options, and the settings that every command takes.
// All that is written wrongly is refused at once.
import { parseArgs } from 'node:util'
import { type Environment, loadConfig, setting_flags } from '#server/config.ts'
import { type Command, type Input, UsageError } from './command.ts'

export function parseInput(command: Command, words: readonly string[], env: Environment): Input {
  const own = command.options ?? {}
  const end = command.rest === undefined ? -1 : words.indexOf('--')
  const rest = end === -1 ? [] : words.slice(end + 1)
  const { values, positionals, settings_argv, problems } = split(command, end === -1 ? words : words.slice(0, end))
  const names = command.positionals ?? []
  if (positionals.length > names.length) problems.push(`what is ${JSON.stringify(positionals[names.length])}?`)
  names.slice(positionals.length).forEach((name) => problems.push(`<${name}> is missing`))
  if (command.rest !== undefined && rest.length === 0) problems.push(`-- <${command.rest}> is missing`)
  for (const [name, option] of Object.entries(own)) {
    if (option.required === true && !values.has(name)) problems.push(`--${name} <${option.value}> is missing`)
  }
  if (problems.length > 0) {
    throw new UsageError(`${problems.join('; ')} (howdah help ${command.name})`)
  }
  const text = (name: string) => values.get(name) ?? positionals[names.indexOf(name)]
  return {
    config: loadConfig(settings_argv, env),
    text,
    need: (name) => {
      const value = text(name)
      if (value === undefined) throw new UsageError(`${name} is missing`)
      return value
    },
    isSet: (name) => values.has(name),
    rest,
  }
}

function split(command: Command, words: readonly string[]) {
  const own = command.options ?? {}
  const values = new Map<string, string>()
  const positionals: string[] = []
  const settings_argv: string[] = []
  const problems: string[] = []
  const flags_of_settings = new Set(setting_flags.map((flag) => flag.slice(2)))
  const takes_value = (name: string) => flags_of_settings.has(name) || own[name]?.value !== undefined
  const options = Object.fromEntries(
    [...flags_of_settings, ...Object.keys(own)].map((name) => [
      name,
      { type: takes_value(name) ? ('string' as const) : ('boolean' as const) },
    ]),
  )
  for (const token of parseArgs({ args: [...words], options, strict: false, tokens: true }).tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const needs_value = takes_value(token.name)
    const next_option = !token.inlineValue && token.value?.startsWith('--')
    if (!(token.name in options)) problems.push(`there is no option ${token.rawName}`)
    else if (needs_value && (token.value === undefined || next_option)) problems.push(`${token.rawName} needs a value`)
    else if (!needs_value && token.value !== undefined) problems.push(`${token.rawName} takes no value`)
    else if (flags_of_settings.has(token.name)) settings_argv.push(`${token.rawName}=${token.value}`)
    else values.set(token.name, token.value ?? '')
  }
  return { values, positionals, settings_argv, problems }
}
