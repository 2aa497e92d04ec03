// Where a service came from and what came from it, and the way back to any moment that it can still reach.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Service } from '#contract/service.ts'
import type { ForkStrategy } from '#contract/snapshot.ts'
import { type May, useMay } from '../may.ts'
import { Button } from '../part/button.tsx'
import { Card, layout, Skeleton } from '../part/layout.tsx'
import { Note, Problem } from '../part/problem.tsx'
import { lengthOf } from '../part/length.ts'
import { useNow } from '../part/time.tsx'
import { q } from '../query.ts'
import { useService } from '../service/frame.tsx'
import { Back, type Way } from './back.tsx'
import { Family } from './family.tsx'
import { ForkDialog } from './fork-dialog.tsx'
import { LookFirst } from './look-first.tsx'
import { Snapshots } from './snapshots.tsx'
import { TimeBand } from './time-band.tsx'

/** `look`: a fork that ends by itself, to look at. */
type Asked = { look?: true; strategy: ForkStrategy; target_time?: string }

export function Forks() {
  const service = useService()
  const [asked, setAsked] = useState<Asked>()
  const [way, setWay] = useState<Way>()
  const may = useMay(service.project_id, service.status)
  return (
    <div className={layout['stack']}>
      <TimeMachine service={service} onFork={setAsked} onBack={setWay} may={may} />
      <Family service={service} />
      <Snapshots service={service} />
      {asked?.look && (
        <LookFirst service={service} target_time={asked.target_time} onClose={() => setAsked(undefined)} />
      )}
      {asked !== undefined && !asked.look && (
        <ForkDialog service={service} {...asked} onClose={() => setAsked(undefined)} />
      )}
      {way !== undefined && <Back service={service} way={way} onClose={() => setWay(undefined)} />}
    </div>
  )
}

type MachineProps = { service: Service; onFork: (asked: Asked) => void; onBack: (way: Way) => void; may: May }

function TimeMachine({ service, onFork, onBack, may }: MachineProps) {
  const { project_id, service_id } = service
  const reason = may('forkService')
  const snapshots = useQuery(q('listSnapshots', { project_id, service_id }))
  const was_rewound = snapshots.data?.some(({ kind, status }) => kind === 'rewind' && status === 'complete')
  const restorable = useQuery(q('getRestorable', { project_id, service_id }))
  const now = useNow()
  const { restorable_from, restorable_until, waiting_for } = restorable.data ?? {}
  const from = restorable_from === undefined ? undefined : Date.parse(restorable_from)
  const until = restorable_until === undefined ? now : Date.parse(restorable_until)
  return (
    <Card
      title="Time machine"
      actions={
        <>
          <Button icon="fork" reason={reason} onPress={() => onFork({ strategy: 'NOW' })}>
            Fork as it is now
          </Button>
          <Button reason={reason} onPress={() => onFork({ strategy: 'LAST_SNAPSHOT' })}>
            Fork the last snapshot
          </Button>
          {was_rewound && (
            <Button reason={may('undoRewind')} onPress={() => onBack({ to: 'before' })}>
              Undo the rewind…
            </Button>
          )}
          {service.forked_from !== undefined && (
            <Button reason={may('resetService')} onPress={() => onBack({ to: 'parent' })}>
              Reset to its parent…
            </Button>
          )}
        </>
      }
    >
      <Problem error={restorable.error} onRetry={() => void restorable.refetch()} />
      {restorable.data === undefined && <Skeleton lines={3} />}
      {waiting_for !== undefined && <Note>{waiting_for}</Note>}
      {from !== undefined && until > from && (
        <>
          <p className={layout['muted']}>
            Any moment of the last {lengthOf(until - from)} can come back, to the millisecond: as a service of its own,
            or in its place.
          </p>
          <TimeBand
            service={service}
            from={from}
            until={until}
            reason={reason}
            rewind_reason={may('rewindService')}
            onFork={(target_time) => onFork({ strategy: 'PITR', target_time })}
            onLook={(target_time) => onFork({ look: true, strategy: 'PITR', target_time })}
            onRewind={(target_time) => onBack({ to: 'moment', target_time })}
          />
        </>
      )}
    </Card>
  )
}
