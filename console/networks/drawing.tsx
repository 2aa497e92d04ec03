// The networks as a drawing: each VPC a box with its services, peerings as lines between boxes. Every box is a link; the list beneath
// says the same in words.
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useSyncExternalStore } from 'react'
import type { Service } from '#contract/service.ts'
import type { Peering } from '#contract/peering.ts'
import type { Vpc } from '#contract/vpc.ts'
import { q } from '../query.ts'
import { paths } from '../paths.ts'
import css from './networks.module.css'

type Box = { id: string; name: string; sub: string; foreign: boolean; services: readonly Service[] }
type Placed = Box & { x: number; y: number; height: number }
type Wire = { from: string; to: string; status: Peering['status'] }

const box_width = 220
const gap = 60
const chip_height = 24

type DrawingProps = { project_id: string; vpcs: readonly Vpc[]; services: readonly Service[] }

export function Drawing({ project_id, vpcs, services }: DrawingProps) {
  const { data: peerings = [] } = useQuery(q('listProjectPeerings', { project_id }))
  const own = vpcs.map(({ id, name, cidr }): Box => ({
    id,
    name,
    sub: cidr,
    foreign: false,
    services: services.filter(({ vpc_endpoint }) => vpc_endpoint?.vpc_id === id),
  }))
  const known = new Set(vpcs.map(({ id }) => id))
  const foreign = new Map(
    peerings
      .filter(({ peer_vpc_id }) => !known.has(peer_vpc_id))
      .map(({ peer_vpc_id, peer_account_id }): [string, Box] => [
        peer_vpc_id,
        { id: peer_vpc_id, name: `VPC ${peer_vpc_id}`, sub: `project ${peer_account_id}`, foreign: true, services: [] },
      ]),
  )
  const wires = peerings.map(({ vpc_id, peer_vpc_id, status }): Wire => ({ from: vpc_id, to: peer_vpc_id, status }))
  return <Plan project_id={project_id} boxes={[...own, ...foreign.values()]} wires={wires} />
}

const narrow = matchMedia('(max-width: 599px)')

function onWidth(listener: () => void): () => void {
  narrow.addEventListener('change', listener)
  return () => narrow.removeEventListener('change', listener)
}

function Plan({ project_id, boxes, wires }: { project_id: string; boxes: readonly Box[]; wires: readonly Wire[] }) {
  const is_narrow = useSyncExternalStore(onWidth, () => narrow.matches)
  const placed = place(boxes, is_narrow ? 1 : 3)
  const width = Math.max(...placed.map(({ x }) => x + box_width)) + 24
  const height = Math.max(...placed.map((box) => box.y + box.height)) + 24
  const at = new Map(placed.map((box) => [box.id, box]))
  return (
    <div className={css['drawing']}>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="group" aria-label="Networks, drawn">
        {wires.map(({ from, to, status }) => {
          const [one, other] = [at.get(from), at.get(to)]
          return (
            one &&
            other && (
              <path key={`${from} ${to}`} className={`${css['link']} ${css[status] ?? ''}`} d={wireOf(one, other)} />
            )
          )
        })}
        {placed.map((box) =>
          box.foreign ? (
            <BoxShape key={box.id} box={box} />
          ) : (
            <Link key={box.id} to={paths.vpc(project_id, box.id)}>
              <BoxShape box={box} />
            </Link>
          ),
        )}
      </svg>
    </div>
  )
}

function BoxShape({ box }: { box: Placed }) {
  return (
    <g transform={`translate(${box.x} ${box.y})`}>
      <rect className={css[box.foreign ? 'foreign' : 'box']} width={box_width} height={box.height} rx="10" />
      <text className={css['name']} x="14" y="24">
        {shortened(box.name, 26)}
      </text>
      <text className={css['sub']} x="14" y="42">
        {box.sub}
      </text>
      {box.services.map(({ service_id, name, vpc_endpoint }, index) => (
        <g key={service_id} transform={`translate(12 ${54 + index * (chip_height + 6)})`}>
          <rect className={css['chip']} width={box_width - 24} height={chip_height} rx="6" />
          <text className={css['chiptext']} x="9" y="16">
            {shortened(name, 16)} · {vpc_endpoint?.host}
          </text>
        </g>
      ))}
    </g>
  )
}

function place(boxes: readonly Box[], columns_max: number): Placed[] {
  const columns = Math.min(columns_max, boxes.length > 4 ? 3 : Math.min(2, boxes.length))
  const below = Array.from({ length: columns }, () => 24)
  return boxes.map((box, index) => {
    const column = index % columns
    const y = below[column] ?? 24
    const height = 58 + box.services.length * (chip_height + 6)
    below[column] = y + height + gap
    return { ...box, x: 24 + column * (box_width + gap), y, height }
  })
}

function wireOf(one: Placed, other: Placed): string {
  const [left, right] = one.x <= other.x ? [one, other] : [other, one]
  const y1 = left.y + left.height / 2
  const y2 = right.y + right.height / 2
  if (left.x === right.x) return `M${left.x} ${y1}C${left.x - 20} ${y1} ${left.x - 20} ${y2} ${left.x} ${y2}`
  const [x1, x2] = [left.x + box_width, right.x]
  return `M${x1} ${y1}C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}`
}

function shortened(text: string, characters_max: number): string {
  return text.length > characters_max ? `${text.slice(0, characters_max - 1)}…` : text
}
