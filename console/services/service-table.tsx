// The table of services. As a tree, forks stand below the service that they came from.
import { Link } from '@tanstack/react-router'
import type { Service } from '#contract/service.ts'
import { bytes, count } from '../part/amount.ts'
import { iconTrigger } from '../part/button.tsx'
import { Meter } from '../part/layout.tsx'
import { Menu } from '../part/menu.tsx'
import { Env, Status, Tag } from '../part/status.tsx'
import { type Column, Table } from '../part/table.tsx'
import { Time } from '../part/time.tsx'
import { paths } from '../paths.ts'
import { useServiceActs } from '../service/acts.tsx'
import { sizeInWords } from '../service/size.tsx'
import { type Branch, treeOf } from './tree.ts'
import css from './services.module.css'

const columns: readonly Column<Branch>[] = [
  { label: 'Name', nowrap: true, cell: (branch) => <Name branch={branch} /> },
  { label: 'Status', cell: ({ service }) => <StatusCell service={service} /> },
  { label: 'Size', nowrap: true, cell: ({ service }) => sizeInWords(service) },
  { label: 'Now', cell: ({ service }) => <Now service={service} /> },
  { label: 'Extras', cell: ({ service }) => extrasOf(service) },
  { label: 'Made', cell: ({ service }) => <Time value={service.created} /> },
  { label: 'Acts', end: true, cell: ({ service }) => <Acts service={service} /> },
]

type TableProps = {
  services: readonly Service[]
  tree: boolean
  chosen: ReadonlySet<string>
  onChoose: (ids: ReadonlySet<string>) => void
}

export function ServiceTable({ services, tree, chosen, onChoose }: TableProps) {
  const flat = services.map((service) => ({ service, prefix: '' }))
  const rows = tree ? treeOf(services) : flat
  if (rows.length === 0) return null
  return (
    <Table
      label="Services"
      columns={columns}
      rows={rows}
      keyOf={({ service }) => service.service_id}
      selection={{ keys: chosen, nameOf: ({ service }) => service.name, onChange: onChoose }}
    />
  )
}

function Name({ branch: { service, prefix } }: { branch: Branch }) {
  const { project_id, service_id, name, metadata, forked_from } = service
  return (
    <span className={css['name']}>
      {prefix !== '' && (
        <span className={css['branch']} aria-hidden="true">
          {prefix}
        </span>
      )}
      <Link to={paths.service(project_id, service_id)}>{name}</Link>
      <Env environment={metadata.environment} />
      {forked_from !== undefined && <Tag>fork</Tag>}
    </span>
  )
}

function StatusCell({ service: { status, status_reason, protection } }: { service: Service }) {
  return (
    <div>
      <Status status={status} />
      {status_reason !== undefined && <span className={css['sub']}>{status_reason}</span>}
      {protection?.last_drill_error !== undefined && (
        <span className={`${css['sub']} ${css['failed']}`}>its restore drill failed</span>
      )}
    </div>
  )
}

function Now({ service: { metrics, resources } }: { service: Service }) {
  if (metrics === undefined) return '–'
  const { cpu_millis, memory_gbs, disk_gbs } = resources[0]?.spec ?? {}
  const shareOf = (used: number, of: number | undefined) => (of === undefined ? undefined : used / of)
  return (
    <span className={css['now']}>
      <Meter label="CPU" text={`${metrics.milli_cpu} m`} share={shareOf(metrics.milli_cpu, cpu_millis)} />
      <Meter
        label="Memory"
        text={bytes(metrics.memory_mb * 2 ** 20)}
        share={shareOf(metrics.memory_mb, memory_gbs && memory_gbs * 1024)}
      />
      <Meter
        label="Storage"
        text={bytes(metrics.storage_mb * 2 ** 20)}
        share={shareOf(metrics.storage_mb, disk_gbs && disk_gbs * 1024)}
      />
    </span>
  )
}

function extrasOf(service: Service): string {
  const { replica_count, sync_replica_count } = service.ha_replicas
  const sets = service.read_replica_sets.length
  const parts = [
    replica_count > 0 &&
      count(replica_count, 'replica') + (sync_replica_count > 0 ? ` (${sync_replica_count} sync)` : ''),
    sets > 0 && count(sets, 'set'),
    service.connection_pooler !== undefined && 'pooler',
    service.vpc_endpoint !== undefined && 'VPC',
  ].filter((part) => part !== false)
  return parts.length === 0 ? '–' : parts.join(', ')
}

function Acts({ service }: { service: Service }) {
  const { groups, dialog } = useServiceActs(service)
  return (
    <>
      <Menu trigger={iconTrigger(`Acts on ${service.name}`, { small: true, kind: 'quiet' })} groups={groups} />
      {dialog}
    </>
  )
}
