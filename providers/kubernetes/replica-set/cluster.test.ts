// A test of the Cluster of a replica set: where its nodes get the WAL from.
import { expect, test } from 'vitest'
import { setNamesOf } from '../names.ts'
import { home, names, settings, wanted as service } from '../service/plan-fixture.ts'
import { setClusterOf } from './cluster.ts'

const wanted = {
  replica_set_id: 'set0000000',
  generation: 1,
  deleted: false,
  nodes: 2,
  size: { cpu_millis: 500, memory_gbs: 2 },
  home,
  reach: home,
  service,
}
const store = {
  bucket: 'b',
  prefix: '',
  endpoint: 'https://s3.example.org',
  s3_region: 'us-east-1',
  secret: { namespace: 'n', name: 's' },
}

test('a replica set follows the primary, and where there is an archive it takes from it what the primary has no more', () => {
  const originsOf = (more: object) => {
    const set = setNamesOf(names, wanted.replica_set_id)
    const { spec } = setClusterOf({ names, set, settings: { ...settings, ...more }, major: 18, wanted })
    return (spec as { externalClusters: readonly object[] }).externalClusters
  }
  const primary = { name: 's-serv000000', connectionParameters: { host: 's-serv000000-rw' } }
  const plugin = { parameters: { barmanObjectName: names.store, serverName: 's-serv000000' } }
  expect(originsOf({ store })).toMatchObject([{ ...primary, plugin }])
  expect(originsOf({})).toMatchObject([primary])
  expect(originsOf({})[0]).not.toHaveProperty('plugin')
})
