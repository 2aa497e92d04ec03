// A status as a shape, a colour and a word: never by colour alone. Services, replica sets, peerings and snapshots share the marks.
import type { PeeringStatus } from '#contract/peering.ts'
import type { ReplicaSetStatus } from '#contract/replica-set-status.ts'
import type { ServiceStatus } from '#contract/service-status.ts'
import css from './status.module.css'

type Mark = 'good' | 'busy' | 'rest' | 'bad' | 'gone'
type AnyStatus = ServiceStatus | ReplicaSetStatus | PeeringStatus | 'taking' | 'complete'

const marks: Readonly<Record<AnyStatus, Mark>> = {
  READY: 'good',
  QUEUED: 'busy',
  CONFIGURING: 'busy',
  RESUMING: 'busy',
  PAUSING: 'busy',
  UPGRADING: 'busy',
  OPTIMIZING: 'busy',
  PAUSED: 'rest',
  UNSTABLE: 'bad',
  DELETING: 'gone',
  DELETED: 'gone',
  active: 'good',
  creating: 'busy',
  resizing: 'busy',
  deleting: 'gone',
  error: 'bad',
  pending: 'busy',
  failed: 'bad',
  taking: 'busy',
  complete: 'good',
}

const shapes: Readonly<Record<Mark, React.ReactElement>> = {
  good: <circle cx="5" cy="5" r="4.5" fill="currentColor" />,
  busy: (
    <>
      <circle cx="5" cy="5" r="4" fill="none" stroke="currentColor" strokeWidth="1" />
      <path d="M5 1a4 4 0 0 1 0 8z" fill="currentColor" />
    </>
  ),
  rest: <circle cx="5" cy="5" r="4" fill="none" stroke="currentColor" strokeWidth="1.5" />,
  bad: <path d="M5 .5 9.8 9.5H.2z" fill="currentColor" />,
  gone: <path d="M1.5 1.5l7 7m0-7-7 7" stroke="currentColor" strokeWidth="1.8" />,
}

export function Status({ status }: { status: AnyStatus }) {
  const mark = marks[status]
  const tone = mark === 'gone' ? 'rest' : mark
  return (
    <span className={`${css['status']} ${css[tone]}`}>
      <svg viewBox="0 0 10 10" className={css['mark']} aria-hidden="true">
        {shapes[mark]}
      </svg>
      {status}
    </span>
  )
}

export function Env({ environment }: { environment: 'DEV' | 'PROD' }) {
  return <span className={`${css['tag']} ${environment === 'PROD' ? css['prod'] : ''}`}>{environment}</span>
}

export function Tag({ children }: { children: string }) {
  return <span className={css['tag']}>{children}</span>
}
