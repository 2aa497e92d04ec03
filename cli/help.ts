// The help texts, derived from the commands and the settings.
import { settingsHelp } from '#server/config.ts'
import { version } from '#server/version.ts'
import type { Command } from './command.ts'

export function generalHelp(commands: readonly Command[]): string {
  const rows: [string, string][] = commands.map((command) => [command.name, command.summary])
  rows.push(['help [command]', 'Explain a command.'], ['version', 'Print the version.'])
  return [
    `Howdah ${version}: a self-hosted control plane for PostgreSQL services.`,
    '',
    'Usage: howdah <command> [options]',
    '',
    ...aligned(rows),
    '',
    'Every command takes the settings too, at least --data-dir: `howdah help start` lists them.',
    'Exit codes: 0 done, 1 could not be done, 2 written wrongly.',
  ].join('\n')
}

export function commandHelp(command: Command): string {
  const positionals = (command.positionals ?? []).map((name) => ` <${name}>`).join('')
  const options = Object.entries(command.options ?? {})
  const rest = command.rest === undefined ? '' : ` -- <${command.rest}>`
  const lines = [`Usage: howdah ${command.name}${positionals} [options]${rest}`, '', command.summary]
  if (command.details !== undefined) lines.push('', command.details)
  if (options.length > 0) {
    const rows = options.map(([name, option]): [string, string] => [
      option.value === undefined ? `--${name}` : `--${name} <${option.value}>`,
      option.required === true ? `${option.description} Required.` : option.description,
    ])
    lines.push('', 'Options:', ...aligned(rows))
  }
  lines.push('', 'Settings (a flag wins over the environment variable):', settingsHelp())
  return lines.join('\n')
}

function aligned(rows: readonly [string, string][]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}
