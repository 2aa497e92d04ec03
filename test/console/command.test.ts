// The line that the console shows beside a form is one that the command understands.
import { expect, test } from 'vitest'
import { parseInput } from '#cli/parse.ts'
import { findUserCommand } from '#cli/user/main.ts'
import { create_options, createCommand } from '#console/services/command.ts'

const body = {
  name: 'my shop',
  environment_tag: 'PROD',
  region_code: 'local',
  cpu_millis: '500',
  memory_gbs: '2',
  addons: ['ai', 'time-series'],
  replica_count: 2,
  sync_replica_count: 1,
}

test('every part of a request to make a service is an option', () => {
  const line = createCommand('b7iabr2ok0', body)
  expect(line).toContain(`howdah service create 'my shop'`)
  for (const option of Object.values(create_options)) expect(line).toContain(` ${option} `)
  const words = line.match(/'[^']*'|[^\s\\]+/g)?.map((word) => word.replaceAll("'", '')) ?? []
  const found = findUserCommand(words.slice(1))
  if (found === undefined) throw new Error(`no command: ${line}`)
  expect(found.rest[0]).toBe('my shop')
  // It throws at an option that it does not know.
  expect(parseInput(found.command, found.rest).text('cpu')).toBe('500')
})
