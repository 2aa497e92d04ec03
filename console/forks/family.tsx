// The family of a service: every service of the project that shares an ancestor with it, as an indented list.
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Api } from '#contract/api.ts'
import type { OutputOf } from '#contract/endpoint.ts'
import type { Service } from '#contract/service.ts'
import { Card, layout, Skeleton } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { exact } from '../part/time.tsx'
import { paths } from '../paths.ts'
import { q } from '../query.ts'
import css from './forks.module.css'

type Node = OutputOf<Api['getLineage']>[number]
type Row = { node: Node; lead: string }

export function Family({ service }: { service: Service }) {
  const { project_id, service_id } = service
  const { data, error } = useQuery(q('getLineage', { project_id }))
  const rows = data === undefined ? [] : familyOf(data, service_id)
  return (
    <Card title="Family">
      <Problem error={error} />
      {data === undefined && <Skeleton />}
      <ul className={css['family']}>
        {rows.map(({ node, lead }) => (
          <li key={node.service_id} aria-current={node.service_id === service_id || undefined}>
            <span className={css['lead']} aria-hidden="true">
              {lead}
            </span>
            <Link
              to={paths.service(project_id, node.service_id)}
              className={node.service_id === service_id ? css['here'] : undefined}
            >
              {node.name}
            </Link>
            <span className={`${layout['muted']} ${layout['small']}`}>{originOf(node)}</span>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function originOf({ forked_from }: Node): string {
  if (forked_from === undefined) return ''
  const { fork_strategy, moment, exists } = forked_from
  const when = moment === undefined ? '' : ` @ ${exact(Date.parse(moment), { ms: fork_strategy === 'PITR' })}`
  return `${fork_strategy}${when}${exists ? '' : ', of a service that is deleted'}`
}

function familyOf(nodes: readonly Node[], service_id: string): Row[] {
  const by_id = new Map(nodes.map((node) => [node.service_id, node]))
  const parentOf = (node: Node | undefined) => by_id.get(node?.forked_from?.service_id ?? '')
  let oldest = by_id.get(service_id)
  while (parentOf(oldest) !== undefined) oldest = parentOf(oldest)
  const rowsOf = (node: Node, lead: string, deeper: string): Row[] => {
    const children = nodes.filter((child) => parentOf(child) === node)
    return [
      { node, lead },
      ...children.flatMap((child, index) => {
        const is_last = index === children.length - 1
        return rowsOf(child, `${deeper}${is_last ? '└─' : '├─'}`, `${deeper}${is_last ? '  ' : '│ '}`)
      }),
    ]
  }
  return oldest === undefined ? [] : rowsOf(oldest, '', '')
}
