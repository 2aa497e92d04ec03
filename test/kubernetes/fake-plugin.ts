// What the backup plugin of the operator does, as far as the provider can see it: a Backup of a running Cluster becomes complete and
// leaves its description in the store, with a file of WAL.
import type { FakeBucket } from './fake-bucket.ts'
import type { Held, Store } from './fake-store.ts'

const backups = '/apis/postgresql.cnpg.io/v1/backups'
let count = 0

/** One step; true: there was one. */
export function takeBackups(store: Store, { objects }: FakeBucket): boolean {
  const next = store.list(backups).find(({ status }) => status === undefined)
  if (next === undefined) return false
  const { namespace = '', name } = next.metadata
  const path = `/apis/postgresql.cnpg.io/v1/namespaces/${namespace}/backups/${name}`
  const { configuration } =
    store.find(`/apis/barmancloud.cnpg.io/v1/namespaces/${namespace}/objectstores/store`)?.spec ?? {}
  const { destinationPath = '' } = (configuration ?? {}) as { destinationPath?: string }
  const below = `${destinationPath.replace('s3://fake-bucket/', '')}/${clusterOf(next)}`
  count += 1
  const [backupId, beginWal] = [`copy-${count}`, `00000001000000000000${String(count).padStart(4, '0')}`]
  const end = new Date().toISOString().replace('T', ' ').replace('Z', '000+00:00')
  const cluster = store.find(`/apis/postgresql.cnpg.io/v1/namespaces/${namespace}/clusters/${clusterOf(next)}`)
  const { major } = (cluster?.spec?.['imageCatalogRef'] ?? {}) as { major?: number }
  const info = `cluster_size=1234\nend_time=${end}\nversion=${major}0005\n`
  objects.set(`${below}/base/${backupId}/backup.info`, info)
  objects.set(`${below}/base/${backupId}/data.tar`, 'data')
  objects.set(`${below}/wals/0000000100000000/${beginWal}`, 'wal')
  store.merge(path, { status: { phase: 'completed', backupId, beginWal } })
  return true
}

const clusterOf = ({ spec = {} }: Held) => (spec['cluster'] as { name: string }).name
