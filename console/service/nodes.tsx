// What a service is made of: its primary, the replicas that can take over, and its read replica sets.
import type { ServiceNode } from '#contract/replica-set.ts'
import type { Service } from '#contract/service.ts'
import { bytes, count } from '../part/amount.ts'
import { Note } from '../part/problem.tsx'
import { Status } from '../part/status.tsx'
import { nothing, Table } from '../part/table.tsx'
import css from './overview.module.css'
import { sizeInWords } from './size.tsx'

const role_words = { primary: 'primary', sync: 'synchronous', async: 'asynchronous' } as const

export function Nodes({ service }: { service: Service }) {
  const { replica_count, sync_replica_count } = service.ha_replicas
  const wanted = Array.from({ length: replica_count }, (_, index) => index < sync_replica_count)
  const known = service.replicas?.filter(({ role }) => role !== 'primary')
  return (
    <ul className={css['nodes']} aria-label="Parts">
      <li className={`${css['node']} ${css['main']}`}>
        <b>primary</b>
        {sizeInWords(service)}
      </li>
      {known?.map((node) => (
        <li key={node.node} className={css['node']}>
          <b>replica, node {node.node}</b>
          {role_words[node.role]}, {behind(node)}
        </li>
      ))}
      {known === undefined &&
        wanted.map((is_sync, index) => (
          <li key={index} className={css['node']}>
            <b>replica {index + 1}</b>
            {role_words[is_sync ? 'sync' : 'async']}
          </li>
        ))}
      {service.read_replica_sets.map((set) => (
        <li key={set.id} className={css['node']}>
          <b>
            {set.name} <Status status={set.status} />
          </b>
          read replica set, {count(set.nodes, 'node')}
        </li>
      ))}
      {service.connection_pooler !== undefined && (
        <li className={css['node']}>
          <b>pooler</b>
          {service.connection_pooler.endpoint.host}:{service.connection_pooler.endpoint.port}
        </li>
      )}
    </ul>
  )
}

/** `wanted`: how many of them there should be. */
export function NodeTable({ nodes, wanted, label }: { nodes: readonly ServiceNode[]; wanted: number; label: string }) {
  const missing = wanted - nodes.length
  return (
    <>
      <Table
        label={label}
        rows={nodes}
        keyOf={({ node }) => String(node)}
        columns={[
          { label: 'Node', nowrap: true, cell: ({ node }) => `node ${node}` },
          { label: 'Role', cell: ({ role }) => role_words[role] },
          { label: 'State', cell: ({ state, role }) => (role === 'primary' ? 'writes' : (state ?? nothing)) },
          { label: 'Lag', cell: behind },
        ]}
      />
      {missing > 0 && (
        <Note warn>
          {count(missing, 'node')} not connected to the primary: {missing === 1 ? 'it is' : 'they are'} being made, or
          down.
        </Note>
      )}
    </>
  )
}

function behind({ lag_bytes, lag_seconds = 0 }: ServiceNode): string {
  if (lag_bytes === undefined) return nothing
  if (lag_bytes === 0) return 'up to date'
  return `${bytes(lag_bytes)}${lag_seconds < 1 ? '' : `, ${Math.round(lag_seconds)} s`} behind`
}
