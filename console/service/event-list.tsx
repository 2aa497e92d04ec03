// Events in a list, newest first.
import type { OutputOf } from '#contract/endpoint.ts'
import type { Api } from '#contract/api.ts'
import { Time } from '../part/time.tsx'
import css from './overview.module.css'

export type Events = OutputOf<Api['listServiceEvents']>

export function EventList({ events }: { events: Events }) {
  return (
    <ul className={css['events']}>
      {events.map(({ time, kind, message }, index) => (
        <li key={`${time} ${index}`}>
          <Time value={time} />
          <span className={css['kind']}>{kind}</span>
          <span>{message}</span>
        </li>
      ))}
    </ul>
  )
}
