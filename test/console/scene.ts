// An installation with something of everything, so that every page has what it shows: services in several statuses, a fork, a read
// replica set, networks, members and tokens.
import pg from 'pg'
import type { Service } from '#contract/service.ts'
import type { ReadyService } from '#test/installation.ts'
import type { TestBrowser } from './browser.ts'

export type Scene = { project_id: string; service_id: string; vpc_id: string; shop: pg.ClientConfig }

export async function newScene({ howdah, people }: TestBrowser): Promise<Scene> {
  const { call, services, project_id } = howdah
  const shop = await howdah.createService({
    name: 'shop',
    environment_tag: 'PROD',
    replica_count: 1,
    sync_replica_count: 1,
  })
  const client_config = configOf(shop)
  await fillLog(client_config)
  const at = `${services}/${shop.service_id}`
  const pooler = call('POST', `${at}/enablePooler`)
  const [notes] = await Promise.all([howdah.createService({ name: 'notes', cpu_millis: 'shared' }), pooler])
  await call('POST', `${at}/replicaSets`, { name: 'reports', nodes: 1 })
  const fork = await call<Service>('POST', `${at}/forkService`, {
    fork_strategy: 'NOW',
    name: 'shop-pr-12',
    cpu_millis: 'shared',
  })
  const [home, office] = [
    await call<{ id: string }>('POST', `/projects/${project_id}/vpcs`, { name: 'home', cidr: '10.64.0.0/24' }),
    await call<{ id: string }>('POST', `/projects/${project_id}/vpcs`, { name: 'office', cidr: '10.64.1.0/24' }),
  ]
  await call('POST', `/projects/${project_id}/vpcs/${home.body.id}/peerings`, {
    peer_account_id: project_id,
    peer_region_code: 'local',
    peer_vpc_id: office.body.id,
  })
  await call('POST', `/projects/${project_id}/tokens`, {
    name: 'ci',
    role: 'developer',
    expires_at: '2030-01-31T12:00:00Z',
  })
  await call('POST', `/projects/${project_id}/members`, { email: 'ada@example.com', role: 'developer', name: 'Ada' })
  await people.newPerson('viewer')
  await howdah.untilStatus(fork.body.service_id, 'READY')
  await call('POST', `${services}/${fork.body.service_id}/attachToVPC`, { vpc_id: home.body.id })
  await call('POST', `${services}/${notes.service_id}/stop`)
  await howdah.untilStatus(notes.service_id, 'PAUSED')
  await howdah.untilStatus(shop.service_id, 'READY')
  return { project_id, service_id: shop.service_id, vpc_id: home.body.id, shop: client_config }
}

const configOf = ({ endpoint, initial_password }: ReadyService): pg.ClientConfig => ({
  ...endpoint,
  user: 'tsdbadmin',
  database: 'tsdb',
  password: initial_password,
  ssl: { rejectUnauthorized: false },
})

async function fillLog(config: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(config)
  await client.connect()
  await client.query('create table orders (id bigint generated always as identity, item text, price numeric)')
  await client.query(`insert into orders (item, price) select 'item ' || n, n from generate_series(1, 20000) n`)
  for (const text of ['select * from invoices', 'select 1 / 0', 'selct 1', `select 'x'::int`]) {
    await client.query(text).catch(() => undefined)
  }
  await client.query(`do $$ begin raise warning 'stock of item 12 is low'; end $$`)
  await client.end()
}

/** For so long: orders come in waves, and now and then one fails. */
export async function work({ shop }: Scene, ms: number): Promise<void> {
  const client = new pg.Client(shop)
  await client.connect()
  const end = Date.now() + ms
  for (let turn = 0; Date.now() < end; turn += 1) {
    const orders = Math.round(400 + 350 * Math.sin(turn / 20))
    await client.query(`insert into orders (item, price) select 'item ' || n, n from generate_series(1, $1::int) n`, [
      orders,
    ])
    if (turn % 97 === 0) await client.query('select price / 0 from orders').catch(() => undefined)
    await client.query('select pg_sleep(0.2)')
  }
  await client.end()
}

/** Every page, by name. */
export function pagesOf({ project_id, service_id, vpc_id }: Scene): [name: string, path: string][] {
  const project = `/projects/${project_id}`
  const service = `${project}/services/${service_id}`
  const tabs = ['connect', 'sql', 'metrics', 'logs', 'forks', 'replicas', 'network', 'events', 'settings']
  return [
    ['services', `${project}/services`],
    ['services-tree', `${project}/services?view=tree`],
    ['create', `${project}/services/new`],
    ['service', service],
    ...tabs.map((tab): [string, string] => [`service-${tab}`, `${service}/${tab}`]),
    ['networks', `${project}/networks`],
    ['vpc', `${project}/networks/${vpc_id}`],
    ['activity', `${project}/activity`],
    ['members', `${project}/members`],
    ['tokens', `${project}/tokens`],
    ['audit', `${project}/audit`],
    ['project-settings', `${project}/settings`],
    ['projects', '/projects'],
    ['account', '/account'],
    ['installation', '/installation'],
    ['not-found', `${project}/services/0000000000`],
  ]
}
