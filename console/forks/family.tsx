// The family of a service, drawn: every service of the project that shares an ancestor with it, older ones to the left. Arrow keys
// move between them. Below it the same as an indented list, with what each takes up and every act on it.
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type KeyboardEvent, useRef } from 'react'
import type { Service } from '#contract/service.ts'
import { isUnderWay } from '#contract/service-status.ts'
import { bytes } from '../part/amount.ts'
import { Card, Skeleton } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { Status } from '../part/status.tsx'
import { nothing, Table } from '../part/table.tsx'
import { exact } from '../part/time.tsx'
import { paths } from '../paths.ts'
import { useServices } from '../service-list.ts'
import { q } from '../query.ts'
import { ServiceMenu } from '../service/acts.tsx'
import { useRename } from '../service/rename.tsx'
import { type Family as Kinship, familyOf, type Kin, type Placed } from './family-tree.ts'
import css from './forks.module.css'

const box = { width: 190, height: 46, gap_x: 56, gap_y: 14, edge: 8 }
const name_chars_max = 22

export function Family({ service }: { service: Service }) {
  const { project_id, service_id } = service
  const { data, error } = useQuery(q('getLineage', { project_id }))
  const services = useServices(project_id)
  const family = familyOf(data ?? [], service_id)
  const serviceOf = (id: string) => services.find((one) => one.service_id === id)
  const statusOf = (id: string) => serviceOf(id)?.status
  const shared = { project_id, service_id, family, statusOf }
  return (
    <Card title="Family" wide>
      <Problem error={error} />
      {data === undefined && <Skeleton />}
      {(family.placed.length > 1 || service.forked_from !== undefined) && family.placed.length > 0 && (
        <Drawing {...shared} />
      )}
      {family.placed.length > 0 && (
        <Table
          label="The family"
          rows={family.placed}
          keyOf={({ kin }) => kin.service_id}
          columns={[
            {
              label: 'Service',
              nowrap: true,
              cell: ({ kin, lead }) => (
                <span aria-current={kin.service_id === service_id || undefined}>
                  <span className={css['lead']} aria-hidden="true">
                    {lead}
                  </span>
                  <Name
                    {...{ project_id, kin }}
                    is_here={kin.service_id === service_id}
                    service={serviceOf(kin.service_id)}
                  />
                </span>
              ),
            },
            { label: 'Status', cell: ({ kin }) => <StatusOf status={statusOf(kin.service_id)} /> },
            { label: 'Storage', nowrap: true, cell: ({ kin }) => storageOf(serviceOf(kin.service_id)) },
            { label: 'From', cell: ({ kin }) => originOf(kin) || nothing },
            { label: 'Acts', end: true, cell: ({ kin }) => <Acts service={serviceOf(kin.service_id)} /> },
          ]}
        />
      )}
    </Card>
  )
}

type NameProps = { project_id: string; kin: Kin; is_here: boolean; service: Service | undefined }

/** The service of this page is renamed in its heading. */
function Name({ project_id, kin, is_here, service }: NameProps) {
  if (!is_here && service !== undefined) return <OtherName service={service} />
  return (
    <Link to={paths.service(project_id, kin.service_id)} className={is_here ? css['here'] : undefined}>
      {kin.name}
    </Link>
  )
}

function OtherName({ service }: { service: Service }) {
  const link = useRef<HTMLAnchorElement>(null)
  const field = useRename(service, link)
  return (
    field ?? (
      <Link ref={link} to={paths.service(service.project_id, service.service_id)}>
        {service.name}
      </Link>
    )
  )
}

const StatusOf = ({ status }: { status: Service['status'] | undefined }) =>
  status === undefined ? null : <Status status={status} />

const storageOf = (service: Service | undefined) =>
  service?.metrics === undefined ? nothing : bytes(service.metrics.storage_mb * 2 ** 20)

const Acts = ({ service }: { service: Service | undefined }) =>
  service === undefined ? null : <ServiceMenu service={service} />

type FindStatus = (service_id: string) => Service['status'] | undefined
type DrawingProps = { project_id: string; service_id: string; family: Kinship; statusOf: FindStatus }

function Drawing({ project_id, service_id, family: { placed, rows, depth }, statusOf }: DrawingProps) {
  const drawn = useRef<SVGSVGElement>(null)
  const oldest = placed[0]?.kin.forked_from
  // A parent that is deleted is drawn before the oldest that is left.
  const before = oldest === undefined ? 0 : 1
  const x = ({ depth }: Placed) => box.edge + (depth + before) * (box.width + box.gap_x)
  const y = ({ row }: Placed) => box.edge + row * (box.height + box.gap_y)
  const width = (depth + before + 1) * (box.width + box.gap_x) - box.gap_x + 2 * box.edge
  const height = rows * (box.height + box.gap_y) - box.gap_y + 2 * box.edge
  const first = placed[0]
  return (
    <div className={css['drawn']}>
      <svg
        ref={drawn}
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="group"
        aria-label="The family, drawn; arrow keys move"
        onKeyDown={(event) => moveFocus(event, placed, drawn.current)}
      >
        {before === 1 && first !== undefined && (
          <>
            <path className={css['edge']} d={edge(box.edge + box.width, y(first), x(first), y(first))} />
            <g transform={`translate(${box.edge} ${y(first)})`}>
              <rect className={css['removed']} width={box.width} height={box.height} rx="8" />
              <text className={css['from']} x="14" y="28">
                a service that is deleted
              </text>
            </g>
          </>
        )}
        {placed.map((one) =>
          one.parent === undefined ? null : (
            <path
              key={one.kin.service_id}
              className={css['edge']}
              d={edge(x(one.parent) + box.width, y(one.parent), x(one), y(one))}
            />
          ),
        )}
        {placed.map((one) => (
          <g key={one.kin.service_id} transform={`translate(${x(one)} ${y(one)})`}>
            <Box
              kin={one.kin}
              to={paths.service(project_id, one.kin.service_id)}
              status={statusOf(one.kin.service_id)}
              is_here={one.kin.service_id === service_id}
            />
          </g>
        ))}
      </svg>
    </div>
  )
}

type BoxProps = { kin: Kin; to: string; status: Service['status'] | undefined; is_here: boolean }

function Box({ kin, to, status, is_here }: BoxProps) {
  const origin = originOf(kin) || 'not a fork'
  return (
    <Link to={to} data-id={kin.service_id} aria-current={is_here || undefined}>
      <rect className={`${css['shape']} ${is_here ? css['mine'] : ''}`} width={box.width} height={box.height} rx="8" />
      <circle className={css[`mark-${markOf(status)}`]} cx="16" cy="18" r="4.5">
        <title>{status}</title>
      </circle>
      <text x="28" y="22">
        {shortened(kin.name)}
      </text>
      <text className={css['from']} x="14" y="38">
        {origin}
      </text>
    </Link>
  )
}

function edge(x1: number, y1: number, x2: number, y2: number): string {
  const [from, to, middle] = [y1 + box.height / 2, y2 + box.height / 2, (x1 + x2) / 2]
  return `M${x1} ${from}C${middle} ${from} ${middle} ${to} ${x2} ${to}`
}

/** To the parent, to the first fork, and up and down among all. */
function moveFocus(event: KeyboardEvent, placed: readonly Placed[], drawn: SVGSVGElement | null): void {
  const id = document.activeElement?.getAttribute('data-id')
  const at = placed.find(({ kin }) => kin.service_id === id)
  if (at === undefined) return
  const index = placed.indexOf(at)
  const next = {
    ArrowLeft: at.parent,
    ArrowRight: placed.find(({ parent }) => parent === at),
    ArrowUp: placed[index - 1],
    ArrowDown: placed[index + 1],
  }[event.key]
  if (next === undefined) return
  event.preventDefault()
  drawn?.querySelector<SVGElement>(`[data-id="${next.kin.service_id}"]`)?.focus()
}

function markOf(status: Service['status'] | undefined): 'good' | 'busy' | 'bad' | 'rest' {
  if (status === 'READY') return 'good'
  if (status === 'UNSTABLE') return 'bad'
  return status !== undefined && isUnderWay(status) ? 'busy' : 'rest'
}

function originOf({ forked_from }: Kin): string {
  if (forked_from === undefined) return ''
  const { fork_strategy, moment } = forked_from
  const words = { NOW: 'as of', LAST_SNAPSHOT: 'snapshot of', PITR: 'back to' }[fork_strategy]
  return moment === undefined ? fork_strategy : `${words} ${exact(Date.parse(moment), { ms: false })}`
}

function shortened(name: string): string {
  return name.length > name_chars_max ? `${name.slice(0, name_chars_max - 1)}…` : name
}
