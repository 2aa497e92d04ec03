// What happened when, on a band of time: snapshots, events, and how many warnings and errors were logged.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Service } from '#contract/service.ts'
import { q } from '../query.ts'
import css from './forks.module.css'
import { lengthIn, type Span } from './zoom.ts'

type MarksProps = {
  service: Service
  shown: Span
  /** Whether less than the whole window is shown. */
  is_part: boolean
  at: number
}

export function Marks({ service, shown, is_part, at }: MarksProps) {
  const place = { project_id: service.project_id, service_id: service.service_id }
  const { data: snapshots = [] } = useQuery(q('listSnapshots', place))
  const { data: events = [] } = useQuery(q('listServiceEvents', place))
  const warnings = useWarnings(place, shown, is_part)
  const most = Math.max(1, ...warnings.map(({ count }) => count))
  /** Percent of the band. */
  const x = (moment: number) => ((moment - shown.from) / lengthIn(shown)) * 100
  const inside = (time: string | undefined) =>
    time !== undefined && Date.parse(time) >= shown.from && Date.parse(time) <= shown.until
  return (
    <div className={css['marks']} aria-hidden="true">
      <i className={css['past']} style={{ width: `${x(at)}%` }} />
      {warnings.map(({ time, count, ms }) => (
        <i
          key={time}
          className={css['warnings']}
          style={{ left: `${x(time)}%`, width: `${x(shown.from + ms)}%`, height: `${30 * (count / most)}%` }}
        />
      ))}
      {snapshots
        .filter(({ taken }) => inside(taken))
        .map(({ id, taken = '' }) => (
          <i key={id} className={css['snapshot']} style={{ left: `${x(Date.parse(taken))}%` }} />
        ))}
      {events
        .filter(({ time, kind }) => kind !== 'snapshot' && inside(time))
        .map(({ time }, index) => (
          <i key={`${time} ${index}`} className={css['event']} style={{ left: `${x(Date.parse(time))}%` }} />
        ))}
      <i className={css['hand']} style={{ left: `${x(at)}%` }} />
    </div>
  )
}

const buckets = 120
const bad_severities = ['WARNING', 'ERROR', 'FATAL', 'PANIC']

/** How many of them when. The whole window moves with the present, and this need not move with it. */
function useWarnings(place: { project_id: string; service_id: string }, shown: Span, is_part: boolean) {
  const [first] = useState(shown)
  const span = is_part ? shown : first
  const times = { since: new Date(span.from).toISOString(), until: new Date(span.until).toISOString() }
  const query = { ...times, buckets, severities: bad_severities }
  const { data } = useQuery({ ...q('getLogHistogram', { ...place, query }), staleTime: Infinity })
  const ms = lengthIn(span) / buckets
  return (data?.buckets ?? [])
    .map(({ time, counts }) => ({
      ms,
      time: Date.parse(time),
      count: Object.values(counts).reduce((sum, one) => sum + one, 0),
    }))
    .filter(({ count }) => count > 0)
}
