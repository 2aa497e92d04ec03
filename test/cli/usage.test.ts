// What people type: what is refused and with which words, what is understood, and what help says.
import { expect, test } from 'vitest'
import { UsageError } from '#cli/command.ts'
import { commands, findCommand } from '#cli/commands.ts'
import { commandHelp, generalHelp } from '#cli/help.ts'
import { parseInput } from '#cli/parse.ts'

function parse(...words: string[]) {
  const { command, rest } = findCommand(words)
  return parseInput(command, rest, {})
}

test.each([
  [['frobnicate'], 'there is no command "frobnicate"; howdah help lists them all'],
  [['token'], 'say which: howdah token create, howdah token list, howdah token revoke'],
  [['token', 'create'], '--name <text> is missing (howdah help token create)'],
  [['token', 'create', '--name'], '--name needs a value'],
  [['token', 'create', '--name', '--json'], '--name needs a value'],
  [['token', 'revoke'], '<public_key> is missing'],
  [['stop', '--all=no'], '--all takes no value'],
  [['status', 'now', '--colour'], 'there is no option --colour; what is "now"?'],
])('howdah %j is refused', (words, message) => {
  expect(() => parse(...words)).toThrow(UsageError)
  expect(() => parse(...words)).toThrow(message)
})

test('options, positionals and settings may come in any order', () => {
  const input = parse('token', 'revoke', '--data-dir', '/tmp/x', 'KEY', '--port=9000')
  expect(input.need('public_key')).toBe('KEY')
  expect(input.config).toMatchObject({ data_dir: '/tmp/x', port: 9000 })
  expect(parse('stop', '--all').isSet('all')).toBe(true)
  expect(parse('stop').isSet('all')).toBe(false)
  expect(parse('token', 'create', '--name', 'a b').text('name')).toBe('a b')
})

test('every command is listed and explains itself, its options and the settings', () => {
  for (const command of commands) {
    expect(generalHelp(commands)).toContain(`  ${command.name} `)
    const help = commandHelp(command)
    expect(help).toContain(`Usage: howdah ${command.name}`)
    expect(help).toContain('--data-dir')
    for (const option of Object.keys(command.options ?? {})) expect(help).toContain(`--${option}`)
  }
})
