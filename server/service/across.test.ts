// Table tests of what keeps a service from being copied into another region.
import { expect, test } from 'vitest'
import { acrossProblems } from './across.ts'

const offered = { offered: true } as const
const asked = {
  parent: { postgres_version: '17.6', power: 'on', vpc_id: null },
  from: { forks_out: offered },
  into: { forks_in: offered, postgres_versions: ['18.4', '17.5'] },
  region_code: 'eu-1',
} as const
const now = { fork_strategy: 'NOW' }

test.each([
  { what: 'all is there', parts: {}, problems: [] },
  {
    what: 'no other region reaches the service',
    parts: { from: { forks_out: { offered: false, reason: 'nothing reaches it' } as const } },
    problems: ['/region_code: nothing reaches it'],
  },
  {
    what: 'the other region copies nothing',
    parts: { into: { ...asked.into, forks_in: { offered: false, reason: 'it copies nothing' } as const } },
    problems: ['/region_code: it copies nothing'],
  },
  {
    what: 'the other region has not its version',
    parts: { into: { forks_in: offered, postgres_versions: ['18.4'] } },
    problems: [
      '/region_code: the service has PostgreSQL 17 and region eu-1 has 18.4: files are copied between the same major versions only, from 17 on; move it with pg_dump',
    ],
  },
  {
    what: 'its version sorts by rules of the system',
    parts: {
      parent: { ...asked.parent, postgres_version: '16.9' },
      into: { forks_in: offered, postgres_versions: ['16.9'] },
    },
    problems: [
      '/region_code: the service has PostgreSQL 16 and region eu-1 has 16.9: files are copied between the same major versions only, from 17 on; move it with pg_dump',
    ],
  },
  {
    what: 'it is paused and in a VPC',
    parts: { parent: { ...asked.parent, power: 'off', vpc_id: 3 } as const },
    problems: [
      '/region_code: a paused service cannot be copied into another region; start it first',
      '/region_code: a service in a VPC is not reached from another region; detach it from the VPC first',
    ],
  },
])('$what', ({ parts, problems }) => {
  expect(acrossProblems(now, { ...asked, ...parts }).map(({ path, message }) => `${path}: ${message}`)).toEqual(
    problems,
  )
})
