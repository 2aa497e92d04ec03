// What people type: what is refused and with which words, what is understood, and what help says.
import { expect, test } from 'vitest'
import { findCommand, UsageError } from '#cli/command.ts'
import { commandHelp, generalHelp, nounHelp, unknownCommand } from '#cli/help.ts'
import { operator_commands, parseOperatorInput, settingsHelpFor } from '#cli/operator.ts'
import { parseInput } from '#cli/parse.ts'
import { findUserCommand, user_commands } from '#cli/user/main.ts'

function parse(...words: string[]) {
  const found = findCommand(operator_commands, words)
  if (found === undefined) throw unknownCommand(words, operator_commands)
  return parseOperatorInput(found.command, found.rest, {})
}

function parseUser(...words: string[]) {
  const found = findUserCommand(words)
  if (found === undefined) throw unknownCommand(words, user_commands)
  return parseInput(found.command, found.rest)
}

test.each([
  [['frobnicate'], 'there is no command "frobnicate"; howdah help lists them all'],
  [['admin', 'key'], 'say which: howdah admin key rotate'],
  [['admin', 'token', 'create'], '--name <text> is missing (howdah help admin token create)'],
  [['admin', 'token', 'create', '--name'], '--name needs a value'],
  [['admin', 'token', 'create', '--name', '--json'], '--name needs a value'],
  [['admin', 'token', 'revoke'], '<public_key> is missing'],
  [['stop', '--all=no'], '--all takes no value'],
  [['status', 'now', '--colour'], 'there is no option --colour; what is "now"?'],
])('howdah %j is refused', (words, message) => {
  expect(() => parse(...words)).toThrow(UsageError)
  expect(() => parse(...words)).toThrow(message)
})

test.each([
  [['service', 'set-protection', 'x', '--protected', 'maybe'], '--protected must be one of yes, no'],
  [['service', 'create', '--name'], '--name needs a value'],
])('of howdah %j it is not said that what is wrong is missing', (words, message) => {
  expect(() => parseUser(...words)).toThrow(new UsageError(`${message} (howdah help ${words.slice(0, 2).join(' ')})`))
})

test('options, positionals and settings may come in any order', () => {
  const input = parse('admin', 'token', 'revoke', '--data-dir', '/tmp/x', 'KEY', '--port=9000')
  expect(input.need('public_key')).toBe('KEY')
  expect(input.config).toMatchObject({ data_dir: '/tmp/x', port: 9000 })
  expect(parse('stop', '--all').isSet('all')).toBe(true)
  expect(parse('stop').isSet('all')).toBe(false)
  expect(parse('admin', 'token', 'create', '--name', 'a b').text('name')).toBe('a b')
})

test.each([
  [['service'], 'say which: howdah service list, create'],
  [['psql', 'shop'], 'there is no command "psql"; did you mean howdah service psql?'],
  [['--profile', 'dev', 'whoami'], '--profile stands where a command does; options follow it'],
  [['service', 'lst'], 'there is no command "service lst"; did you mean howdah service list?'],
  [['servce', 'list'], 'there is no command "servce"; did you mean howdah service?'],
  [['service', 'explode'], 'there is no command "service explode"; howdah help service lists them all'],
  [['service', 'create', '--nam', 'x'], 'there is no option --nam; did you mean --name?'],
  [['service', 'create', 'x', '--replica-count', '1'], 'there is no option --replica-count; did you mean --replicas?'],
  [['service', 'resize', 'x', '--cpu-milis', '500'], 'there is no option --cpu-milis; did you mean --cpu?'],
  [
    ['service', 'rewind', 'x', '--target-time', 'now'],
    'there is no option --target-time; did you mean --at? (howdah help',
  ],
  [['service', 'fork', 'x', '--target-time', 'now'], 'there is no option --target-time; did you mean --at?'],
  [['service', 'create'], '<name> is missing (howdah help service create)'],
  [['service', 'delete'], '<service> is missing'],
  [['service', 'set-environment', 'x', '--environment', 'dev'], '--environment must be one of DEV, PROD'],
  [['preview', 'down', '--key', ' '], '--key is empty'],
  [['service', 'list', '-o', 'xml'], '-o must be one of table, json, yaml, csv, name'],
  [['service', 'set-ha', 'x', '--token', 'y'], 'there is no option --token'],
  [
    ['service', 'set-ha', 'x', '--sync-replicas', '1'],
    'there is no option --sync-replicas; did you mean --sync? (howdah help',
  ],
  [['service', 'list', '--data-dir', '/x'], 'there is no option --data-dir'],
  [['service', 'list', '--constructor'], 'there is no option --constructor'],
])('howdah %j is refused', (words, message) => {
  expect(() => parseUser(...words)).toThrow(UsageError)
  expect(() => parseUser(...words)).toThrow(message)
})

test('a positional that is chosen beforehand may be left out, and a name may be an option', () => {
  const one = parseUser('service', 'rename', 'shop', 'market')
  expect([one.text('service'), one.text('name')]).toEqual(['shop', 'market'])
  const chosen = parseUser('service', 'rename', 'market')
  expect([chosen.text('service'), chosen.text('name')]).toEqual([undefined, 'market'])
  const named = parseUser('service', 'rename', 'shop', '--name', 'market')
  expect([named.text('service'), named.text('name')]).toEqual(['shop', 'market'])
  expect(parseUser('snapshot', 'delete', 's7f1b3n9ue').text('snapshot')).toBe('s7f1b3n9ue')
  expect(parseUser('service', 'create', '--body', '{}').text('name')).toBeUndefined()
})

test('letters, repeated options, values that may be left out, and other words for a command', () => {
  const logs = parseUser('svc', 'logs', 'shop', '-f', '-n', '5', '--grep', 'a,b', '--grep', 'c', '-ojson')
  expect([logs.isSet('follow'), logs.text('lines'), logs.texts('grep'), logs.text('output')]).toEqual([
    true,
    '5',
    ['a,b', 'c'],
    'json',
  ])
  expect(parseUser('service', 'psql', '--pooled').text('pooled')).toBe('')
  expect(parseUser('service', 'psql', '--pooled=transaction', 'shop').text('pooled')).toBe('transaction')
  expect(parseUser('service', 'psql', 'shop', '--', '-c', '--help').rest).toEqual(['-c', '--help'])
  expect(findUserCommand(['member', 'add'])?.command.name).toBe('member create')
  expect(findUserCommand(['service', 'pause', 'x'])?.command.name).toBe('service stop')
})

test('an operator’s command explains itself, its options and where the settings are; a user’s no settings', () => {
  for (const command of operator_commands) {
    const help = commandHelp(command, settingsHelpFor(command))
    expect(help).toContain(`Usage: howdah ${command.name}`)
    expect(help).toContain('--data-dir')
    // Of the server's settings only where they are read as a whole.
    expect(help.includes('--vpc-ranges')).toBe(command.name === 'start')
    for (const option of Object.keys(command.options ?? {})) expect(help).toContain(`--${option}`)
  }
  for (const command of user_commands) {
    const help = commandHelp(command)
    expect(help).toContain(`Usage: howdah ${command.name}`)
    expect(help).not.toContain('--data-dir')
    for (const option of Object.keys(command.options ?? {})) expect(help).toContain(`--${option}`)
  }
})

test('every command is listed, by its noun and among all', () => {
  const all = [...user_commands, ...operator_commands]
  const general = generalHelp('1.0.0', [{ title: 'All', commands: all }])
  for (const { name } of all) {
    const words = name.split(' ')
    expect(general).toContain(words.at(-1))
    expect(nounHelp(words.slice(0, 1), all)).toContain(`howdah ${name} `)
  }
  // A command whose verbs are commands too has its summary, and they follow.
  expect(general).toMatch(/\n {2}login {2,}Log in as a user, with a browser\.\n {10,}list, delete\n/)
})
