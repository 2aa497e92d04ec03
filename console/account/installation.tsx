// What this installation can do, and what it lacks and why: the server's own answer.
import { useSuspenseQuery } from '@tanstack/react-query'
import type { Capabilities } from '#contract/capabilities.ts'
import { base_path } from '#contract/api.ts'
import { bytes, cores, count } from '../part/amount.ts'
import { Card, Facts, layout, Page } from '../part/layout.tsx'
import { nothing, Table } from '../part/table.tsx'
import { lengthOf } from '../part/length.ts'
import { q } from '../query.ts'
import css from './installation.module.css'

type Region = Capabilities['regions'][number]

export function Installation() {
  const { data } = useSuspenseQuery(q('getCapabilities', {}))
  const { version, login, retention, limits, regions } = data
  return (
    <Page title="Installation">
      <div className={layout['grid']}>
        <Card title="Server">
          <Facts
            facts={[
              ['Version', version],
              ['People log in', login === 'password' ? 'here, with a password' : 'at an OpenID Connect issuer'],
              [
                'CA certificate',
                <a key="ca" href={`${base_path}/ca.pem`} download="howdah-ca.pem">
                  Download it
                </a>,
              ],
              [
                'API',
                <a key="docs" href="/docs/reference">
                  Documentation
                </a>,
              ],
            ]}
          />
        </Card>
        <Card title="Kept">
          <Facts
            facts={[
              [
                'Snapshots',
                `one every ${lengthOf(retention.snapshots.interval_seconds * 1000)}, ${retention.snapshots.kept} of them`,
              ],
              ['Deleted services', keptFor(retention.deleted_services.seconds)],
              ['Logs', `${lengthOf(retention.logs.seconds * 1000)} or ${bytes(retention.logs.bytes)}`],
              ...retention.metrics.map((one): [string, string] => [
                `Metrics, every ${lengthOf(one.bucket_seconds * 1000)}`,
                lengthOf(one.kept_seconds * 1000),
              ]),
            ]}
          />
        </Card>
        <Card title="Limits">
          <Facts facts={Object.entries(limits).map(([name, value]) => [inWords(name), value])} />
        </Card>
      </div>
      {regions.map((region) => (
        <RegionCard key={region.code} region={region} />
      ))}
    </Page>
  )
}

const keptFor = (seconds: number) => (seconds === 0 ? 'not kept' : lengthOf(seconds * 1000))

function inWords(name: string): string {
  const text = name.replaceAll('_', ' ').replace('vpcs', 'VPCs')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

type Offer = { name: string; offered: boolean; reason?: string | undefined }

function RegionCard({ region }: { region: Region }) {
  const offers: Offer[] = [
    ...featureNames.map((name) => ({ name: featureInWords[name], ...region.features[name] })),
    ...region.addons.map(({ name, ...offer }) => ({ name: `Addon ${name}`, ...offer })),
    { name: 'Size shared', ...region.shared },
    ...region.sizes.map(({ cpu_millis, memory_gbs, ...offer }) => ({
      name: `Size ${cores(cpu_millis)}, ${memory_gbs} GB`,
      ...offer,
    })),
  ]
  return (
    <Card title={`Region ${region.code}${region.is_default ? ', the default one' : ''}`}>
      <Facts
        facts={[
          ['Provider', region.provider],
          ['PostgreSQL', region.postgres_versions.join(', ')],
          ['Disk', `${region.volume_type}; forks ${region.copy_on_write ? 'share blocks' : 'are copies'}`],
          ['Offers', `${count(offers.filter(({ offered }) => offered).length, 'thing')} of ${offers.length}`],
        ]}
      />
      <Table
        label={`What ${region.code} offers`}
        rows={offers}
        keyOf={({ name }) => name}
        columns={[
          { label: 'What', nowrap: true, cell: ({ name }) => name },
          {
            label: 'Offered',
            cell: ({ offered }) => <span className={offered ? css['yes'] : css['no']}>{offered ? 'yes' : 'no'}</span>,
          },
          {
            label: 'Why not, and what to do',
            long: true,
            cell: ({ reason }) => (reason === undefined ? nothing : <p>{reason}</p>),
          },
        ]}
      />
    </Card>
  )
}

type Feature = keyof Region['features']

const featureInWords: Readonly<Record<Feature, string>> = {
  pooler: 'Connection pooler',
  replica_sets: 'Read replica sets of several nodes',
  vpcs: 'VPCs',
  snapshots: 'Snapshots, and forks of the past',
  forks_in: 'Forks of services of other regions',
  forks_out: 'Forks into other regions',
  rewinds: 'Rewinds in place',
  drills: 'Restores that are tried out',
  logs: 'Logs of databases',
  complete_logs: 'Every entry in these logs',
  limits: 'CPU and memory limits',
  queries: 'SQL through the API',
  read_only_sessions: 'Sessions that only read',
}

// Object.keys forgets the names that the object's type has.
const featureNames = Object.keys(featureInWords) as Feature[]
