// What a service is made of: its primary, the replicas that can take over, and its read replica sets.
import type { Service } from '#contract/service.ts'
import { count } from '../part/amount.ts'
import { layout } from '../part/layout.tsx'
import { Status } from '../part/status.tsx'
import css from './overview.module.css'
import { sizeInWords } from './size.tsx'

/** `own`: without what stands beside it. */
export function Nodes({ service, own = false }: { service: Service; own?: boolean }) {
  const { replica_count, sync_replica_count } = service.ha_replicas
  const replicas = Array.from({ length: replica_count }, (_, index) => index < sync_replica_count)
  return (
    <div className={layout['stack']}>
      <ul className={css['nodes']} aria-label="Nodes">
        <li className={`${css['node']} ${css['main']}`}>
          <b>primary</b>
          {sizeInWords(service)}
        </li>
        {replicas.map((is_sync, index) => (
          <li key={index} className={css['node']}>
            <b>replica {index + 1}</b>
            {is_sync ? 'synchronous' : 'asynchronous'}
          </li>
        ))}
      </ul>
      {(own ? [] : service.read_replica_sets).map((set) => (
        <div key={set.id} className={css['node']}>
          <b>{set.name}</b>
          <span>
            read replica set, {count(set.nodes, 'node')} <Status status={set.status} />
          </span>
        </div>
      ))}
      {!own && service.connection_pooler !== undefined && (
        <div className={css['node']}>
          <b>pooler</b>
          {service.connection_pooler.endpoint.host}:{service.connection_pooler.endpoint.port}
        </div>
      )}
    </div>
  )
}
