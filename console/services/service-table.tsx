// The table of services. As a tree, forks stand below the service that they came from.
import { Link } from '@tanstack/react-router'
import { useRef } from 'react'
import type { Service } from '#contract/service.ts'
import { bytes, cores, count } from '../part/amount.ts'
import { Meter } from '../part/layout.tsx'
import { Env, Status, Tag } from '../part/status.tsx'
import { type Column, nothing, type Sort, Table } from '../part/table.tsx'
import { Time } from '../part/time.tsx'
import { paths } from '../paths.ts'
import { ServiceMenu } from '../service/acts.tsx'
import { useRename } from '../service/rename.tsx'
import { sizeInWords } from '../service/size.tsx'
import { type Branch, treeOf } from './tree.ts'
import css from './services.module.css'

type Spec = Partial<Service['resources'][number]['spec']>

const specOf = ({ resources }: Service): Spec => resources[0]?.spec ?? {}
const share = (used: number, of: number | undefined) => (of === undefined ? undefined : used / of)

const columns: readonly Column<Branch>[] = [
  { label: 'Name', nowrap: true, order: ({ service }) => service.name, cell: (branch) => <Name branch={branch} /> },
  { label: 'Status', order: ({ service }) => service.status, cell: ({ service }) => <StatusCell service={service} /> },
  {
    label: 'Size',
    nowrap: true,
    order: ({ service }) => specOf(service).cpu_millis ?? 0,
    cell: ({ service }) => sizeInWords(service),
  },
  {
    label: 'CPU',
    order: ({ service: { metrics } }) => metrics?.milli_cpu ?? 0,
    cell: ({ service }) =>
      meterOf('CPU', service, ({ milli_cpu }, spec) => [
        cores(Math.round(milli_cpu)),
        share(milli_cpu, spec.cpu_millis),
      ]),
  },
  {
    label: 'Memory',
    order: ({ service: { metrics } }) => metrics?.memory_mb ?? 0,
    cell: ({ service }) =>
      meterOf('Memory', service, ({ memory_mb }, spec) => [
        bytes(memory_mb * 2 ** 20),
        share(memory_mb / 1024, spec.memory_gbs),
      ]),
  },
  {
    label: 'Storage',
    order: ({ service: { metrics } }) => metrics?.storage_mb ?? 0,
    cell: ({ service }) =>
      meterOf('Storage', service, ({ storage_mb }, spec) => [
        bytes(storage_mb * 2 ** 20),
        share(storage_mb / 1024, spec.disk_gbs),
      ]),
  },
  { label: 'Extras', cell: ({ service }) => extrasOf(service) },
  {
    label: 'Created',
    nowrap: true,
    order: ({ service }) => -Date.parse(service.created),
    cell: ({ service }) => <Time value={service.created} />,
  },
  { label: 'Acts', end: true, cell: ({ service }) => <ServiceMenu service={service} /> },
]

type TableProps = {
  services: readonly Service[]
  tree: boolean
  sort: Sort
  chosen: ReadonlySet<string>
  onChoose: (ids: ReadonlySet<string>) => void
}

export function ServiceTable({ services, tree, sort, chosen, onChoose }: TableProps) {
  const rows = tree ? treeOf(services) : services.map(flatOf)
  if (rows.length === 0) return null
  return (
    <Table
      label="Services"
      columns={columns}
      rows={rows}
      keyOf={({ service }) => service.service_id}
      // A tree has the order of its branches.
      {...(!tree && { sort })}
      selection={{ keys: chosen, nameOf: ({ service }) => service.name, onChange: onChoose }}
    />
  )
}

const flat = new WeakMap<Service, Branch>()

/** The same row every time, which is not drawn again. */
function flatOf(service: Service): Branch {
  const found = flat.get(service) ?? { service, prefix: '' }
  flat.set(service, found)
  return found
}

function Name({ branch: { service, prefix } }: { branch: Branch }) {
  const { project_id, service_id, name, metadata, forked_from } = service
  const link = useRef<HTMLAnchorElement>(null)
  const field = useRename(service, link)
  return (
    <span className={css['name']}>
      {prefix !== '' && (
        <span className={css['branch']} aria-hidden="true">
          {prefix}
        </span>
      )}
      {field ?? (
        <>
          <Link ref={link} to={paths.service(project_id, service_id)}>
            {name}
          </Link>
          <Env environment={metadata.environment} />
          {forked_from !== undefined && <Tag>fork</Tag>}
        </>
      )}
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

type Use = (metrics: NonNullable<Service['metrics']>, spec: Spec) => [string, number | undefined]

/** How much it uses now. */
function meterOf(label: string, service: Service, use: Use): React.ReactNode {
  if (service.metrics === undefined) return nothing
  const [text, part] = use(service.metrics, specOf(service))
  return <Meter label={label} text={text} share={part} />
}

function extrasOf(service: Service): React.ReactNode {
  const { replica_count, sync_replica_count } = service.ha_replicas
  const sets = service.read_replica_sets.length
  const parts = [
    replica_count > 0 &&
      count(replica_count, 'replica') + (sync_replica_count > 0 ? ` (${sync_replica_count} sync)` : ''),
    sets > 0 && count(sets, 'set'),
    service.connection_pooler !== undefined && 'pooler',
    service.vpc_endpoint !== undefined && 'VPC',
  ].filter((part) => part !== false)
  if (parts.length === 0) return nothing
  return (
    <span>
      {parts.map((part, index) => (
        <span key={part}>
          <span className={css['extra']}>
            {part}
            {index < parts.length - 1 && ','}
          </span>{' '}
        </span>
      ))}
    </span>
  )
}
