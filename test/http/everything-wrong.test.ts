// A request can be wrong in its form, which the contract's schemas say, and in what only the rules of its resource know.
// One answer tells of both, and does not complain about what merely follows from a member that is wrong already.
import type { TSchema } from 'typebox'
import { beforeAll, expect, test } from 'vitest'
import { objectOf } from '#contract/openapi.ts'
import { shared } from '#test/shared.ts'
import { startInRegion } from './region.ts'
import { pathOf, type Row, rows, valid_bodies } from './requests.ts'

const howdah = shared(startInRegion)
let service_id: string

beforeAll(async () => {
  service_id = (await howdah.createService()).service_id
})

const any_service = 'nosuchid00'
const past = '2020-01-01T00:00:00Z'

test.each<[string, string, object, string[]]>([
  [
    'a create',
    'services',
    { name: ' ', environment_tag: 'TEST', cpu_millis: '1', region_code: 'moon', sync_replica_count: 2 },
    ['/name', '/environment_tag', '/cpu_millis', '/region_code', '/sync_replica_count'],
  ],
  [
    'a create with rules that the form of one member leaves open',
    'services',
    { name: 'x', cpu_millis: 1.5, memory_gbs: '3', replica_count: '1', sync_replica_count: 1 },
    ['/cpu_millis', '/replica_count', '/memory_gbs'],
  ],
  [
    'a fork',
    `services/${any_service}/forkService`,
    { fork_strategy: 'PITR', name: ' ', memory_gbs: '3' },
    ['/name', '/memory_gbs', '/target_time'],
  ],
  [
    'a fork to a moment, by no known strategy',
    `services/${any_service}/forkService`,
    { fork_strategy: 'THEN', target_time: past },
    ['/fork_strategy'],
  ],
  [
    'a replica set',
    `services/${any_service}/replicaSets`,
    { name: ' ', nodes: '11', cpu_millis: 500, memory_gbs: '3' },
    ['/name', '/nodes', '/cpu_millis'],
  ],
  ['a VPC', 'vpcs', { name: ' ', cidr: '8.8.8.0/24', region_code: 'moon' }, ['/name', '/region_code', '/cidr']],
  [
    'a peering',
    'vpcs/7/peerings',
    { peer_account_id: '(own)', peer_region_code: '', peer_vpc_id: '7' },
    ['/peer_region_code', '/peer_vpc_id'],
  ],
  ['a token', 'tokens', { name: ' ', expires_at: past }, ['/name', '/expires_at']],
  [
    'a series',
    `services/${any_service}/metrics/series`,
    { name: 'luck', from: '2026-01-02T00:00:00Z', to: past },
    ['/name', '/to'],
  ],
  [
    'a series from no time',
    `services/${any_service}/metrics/series`,
    { name: 'luck', from: 'yesterday', to: past },
    ['/name', '/from'],
  ],
])('of %s one answer tells all that is wrong', async (_what, path, body, wrong) => {
  const own = JSON.parse(JSON.stringify(body).replace('(own)', howdah.project_id))
  expect(await problemsOf('POST', path, own)).toEqual(wrong)
})

test.each<[string, string, string[]]>([
  [
    'logs',
    `services/${any_service}/logs?node=x&severities=LOUD&since=soon`,
    ['query/node', 'query/since', 'query/severities'],
  ],
  [
    'the audit log',
    'audit?limit=0&cursor=x&until=2026-11-15T24:00:00Z',
    ['query/limit', 'query/until', 'query/cursor'],
  ],
])('of a query for %s one answer tells all that is wrong', async (_what, path, wrong) => {
  expect(await problemsOf('GET', path)).toEqual(wrong)
})

test.each(
  rows.filter(({ endpoint }) => endpoint.access !== 'user' && momentsOf(endpoint.body ?? endpoint.query).length),
)('a moment of $name in each of its forms is no failure of ours', async (row) => {
  for (const name of momentsOf(row.endpoint.body ?? row.endpoint.query))
    for (const moment of ['2026-11-15T23:59:60Z', '2026-11-15T12:00:00+05', '2026-11-15 12:00:00.5+0530'])
      expect((await send(row, { [name]: moment })).status, moment).toBeLessThan(500)
})

function momentsOf(schema: TSchema | undefined): string[] {
  const members = Object.entries(objectOf(schema).properties ?? {})
  return members.flatMap(([name, member]) => ('format' in member && member.format === 'date-time' ? [name] : []))
}

/** The members go into the body, or into the query of an endpoint without one. */
function send(row: Row, members: Record<string, string>) {
  const [path, { method, body }] = [pathOf(row, { ...howdah, service_id }), row.endpoint]
  if (body !== undefined) return howdah.call(method, path, { ...valid_bodies[row.name], ...members })
  return howdah.call(method, `${path}?${new URLSearchParams(members)}`)
}

async function problemsOf(method: string, path: string, body?: object): Promise<string[] | undefined> {
  const answer = await howdah.call(method, `/projects/${howdah.project_id}/${path}`, body)
  expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
  return answer.body.details?.split('\n').map((line) => line.split(':')[0] ?? line)
}
