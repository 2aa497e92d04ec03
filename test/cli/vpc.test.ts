// howdah admin vpc: what people type to see the VPCs and to run a program inside one.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findCommand } from '#cli/command.ts'
import { operator_commands, parseOperatorInput } from '#cli/operator.ts'
import type { Vpc } from '#contract/vpc.ts'
import { newCall } from '#test/call.ts'
import { removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { howdah, repository, type Started, startHowdah } from '#test/e2e/howdah.ts'
import { why_no_networks as why } from '#test/network/vpc-fixture.ts'
import { unprivileged, readable } from '#test/privileges.ts'
import { newSeededDataDir } from '#test/seed.ts'
import { until } from '#test/until.ts'

function parse(...words: string[]) {
  const found = findCommand(operator_commands, ['admin', ...words])
  if (found === undefined) throw new Error(`there is no command ${words.join(' ')}`)
  return parseOperatorInput(found.command, found.rest, {})
}

test('everything after -- belongs to the program, also what looks like an option of ours', () => {
  const input = parse('vpc', 'exec', '1000', '--data-dir', '/tmp/x', '--', 'psql', '--port', '1', '--', '--help')
  expect(input.rest).toEqual(['psql', '--port', '1', '--', '--help'])
  expect(input.need('vpc_id')).toBe('1000')
  expect(input.config).toMatchObject({ data_dir: '/tmp/x', port: 8080 })
})

test.each([
  [['vpc', 'exec', '1000'], '-- <command …> is missing'],
  [['vpc', 'exec', '1000', '--'], '-- <command …> is missing'],
  [['vpc', 'exec', '--', 'psql'], '<vpc_id> is missing'],
  [['vpc', 'exec', '1000', 'psql', '--', 'x'], 'what is "psql"?'],
])('howdah %j is refused', (words, message) => {
  expect(() => parse(...words)).toThrow(message)
})

describe('on an installation', () => {
  let data_dir = ''
  let place: string[] = []
  let server: Started
  let vpc: Vpc

  beforeAll(async () => {
    data_dir = await newSeededDataDir()
    const { first, last } = newServicePorts()
    place = ['--data-dir', data_dir, '--service-ports', `${first}-${last}`]
    server = await startHowdah(place)
    const token = (await howdah(['admin', 'token', 'create', '--name', 'x', ...place])).stdout.trim()
    const call = newCall(server.url, token)
    const { body: projects } = await call<{ id: string }[]>('GET', '/projects')
    const input = { cidr: '10.77.0.0/24', name: 'home', region_code: 'local' }
    vpc = (await call<Vpc>('POST', `/projects/${projects[0]?.id}/vpcs`, input)).body
  })

  afterAll(async () => {
    await server?.end()
    await removeDataDir(data_dir)
  })

  const exec = (id: string, ...command: string[]) => howdah(['admin', 'vpc', 'exec', id, ...place, '--', ...command])

  test('the VPCs are listed', async () => {
    const { stdout } = await howdah(['admin', 'vpc', 'list', '--json', ...place])
    expect(JSON.parse(stdout)).toMatchObject([{ id: vpc.id, name: 'home', cidr: '10.77.0.0/24', region_code: 'local' }])
  })

  test.skipIf(why)(`a program runs inside, and its exit code is passed on${why}`, async () => {
    const ran = await until(async () => {
      const ran = await exec(vpc.id, 'sh', '-c', 'ip -4 -o address; exit 7')
      return ran.stdout.includes('10.77.0.1/24') && ran
    })
    expect(ran).toMatchObject({ code: 7, stderr: '' })
    expect(ran.stdout).not.toContain('eth0')
    expect((await exec(vpc.id, 'sh', '-c', 'kill -9 $$')).code).toBe(137)
    expect((await exec(vpc.id, 'no-such-program')).code).toBe(127)
  })

  test.skipIf(why)(`another user than the server's is told whose it is${why}`, () => {
    const words = ['admin', 'vpc', 'exec', vpc.id, '--data-dir', data_dir, '--', 'true']
    const command = readable(join(repository, 'bin', 'howdah'))
    const ran = spawnSync(command, words, { uid: unprivileged, gid: unprivileged, encoding: 'utf8' })
    expect([ran.status, ran.stderr]).toEqual([
      1,
      'howdah: only who runs the server can enter the network of a VPC; repeat this with sudo --user=#0\n',
    ])
  })

  test.skipIf(why)(`an unknown VPC and a strange id are told apart from a failure of the program${why}`, async () => {
    const unknown = await exec('999999999', 'true')
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('VPC 999999999 has no network') })
    expect(await exec('../x', 'true')).toMatchObject({ code: 2, stderr: expect.stringContaining('id is a number') })
  })
})
