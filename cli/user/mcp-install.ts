// howdah mcp install: adds one entry to the settings of an agent's program. Everything else in the file stays; what would be lost is refused.
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { UsageError } from '../command.ts'
import type { Context } from './context.ts'
import { findText, saveText } from './files.ts'
import { confirm } from './terminal.ts'

type Entry = { command: string; args: string[] }
type Program = { file: string; added: (before: string, entry: Entry) => string }

const key = 'howdah'

const programs: Readonly<Record<string, () => Program>> = {
  'claude-code': () => ({ file: resolve('.mcp.json'), added: inJson('mcpServers') }),
  cursor: () => ({ file: join(homedir(), '.cursor', 'mcp.json'), added: inJson('mcpServers') }),
  vscode: () => ({ file: resolve('.vscode', 'mcp.json'), added: inJson('servers') }),
  codex: () => ({ file: join(homedir(), '.codex', 'config.toml'), added: inToml }),
}

export async function runMcpInstall(context: Context): Promise<void> {
  const { input, terminal, around } = context
  const name = input.need('claude-code|cursor|vscode|codex')
  const program = programs[name]?.()
  if (program === undefined) throw new UsageError(`${name} is not known; one of ${Object.keys(programs).join(', ')}`)
  const entry = { command: around.command, args: argsOf(input) }
  const before = (await findText(program.file)) ?? ''
  const after = program.added(before, entry)
  if (after === before) return terminal.say(`${program.file} has it already.`)
  terminal.say(`To ${program.file}:`)
  for (const line of after.split('\n').filter((one) => !before.split('\n').includes(one))) terminal.say(`+ ${line}`)
  if (!input.isSet('yes')) await confirm(terminal, input, 'Write it?')
  await saveText(program.file, after)
  terminal.say(`Done. Start ${name} anew.`)
}

function argsOf(input: Context['input']): string[] {
  const switches = ['write', 'allow-prod-writes'].filter((one) => input.isSet(one)).map((one) => `--${one}`)
  const valued = ['project', 'profile'].flatMap((one) => {
    const value = input.text(one)
    return value === undefined ? [] : [`--${one}`, value]
  })
  return ['mcp', ...switches, ...valued, ...input.texts('tools').flatMap((one) => ['--tools', one])]
}

function inJson(member: string) {
  return (before: string, entry: Entry): string => {
    const whole = parsed(before)
    const servers = Object(whole[member]) as Record<string, unknown>
    return `${JSON.stringify({ ...whole, [member]: { ...servers, [key]: entry } }, undefined, 2)}\n`
  }
}

function parsed(text: string): Record<string, unknown> {
  if (text.trim() === '') return {}
  try {
    return Object(JSON.parse(text))
  } catch {
    throw new UsageError('the file is no plain JSON, which would lose its comments; add the entry by hand')
  }
}

function inToml(before: string, { command, args }: Entry): string {
  const head = `[mcp_servers.${key}]`
  const section = [head, `command = ${JSON.stringify(command)}`, `args = ${JSON.stringify(args)}`, ''].join('\n')
  const at = before.indexOf(head)
  if (at === -1) return before + (before === '' || before.endsWith('\n') ? '' : '\n') + section
  const next = before.indexOf('\n[', at + 1)
  return before.slice(0, at) + section + (next === -1 ? '' : before.slice(next + 1))
}
