// A service at a glance: how to connect, what it uses, how far back it can go, what it is made of, and what happened last.
import { useQuery } from '@tanstack/react-query'
import { master_database, master_user } from '#contract/connection.ts'
import type { Service } from '#contract/service.ts'
import { useMay } from '../may.ts'
import { bytes, count } from '../part/amount.ts'
import { Button, ButtonLink } from '../part/button.tsx'
import { CopyText } from '../part/copy.tsx'
import { Card, Facts, layout, Skeleton } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { Status } from '../part/status.tsx'
import { lengthOf } from '../part/length.ts'
import { Time, useNow } from '../part/time.tsx'
import { paths } from '../paths.ts'
import { q, useAct } from '../query.ts'
import { EventList } from './event-list.tsx'
import { useService } from './frame.tsx'
import { Nodes } from './nodes.tsx'
import { sizeInWords } from './size.tsx'
import { Sparks } from './sparks.tsx'

const last_events = 10

export function Overview() {
  const service = useService()
  return (
    <div className={`${layout['pair']} ${layout['four']}`}>
      <Connection service={service} />
      <Sparks service={service} />
      <Protection service={service} />
      <Card title="What it is made of">
        <Nodes service={service} />
      </Card>
      <LastEvents service={service} />
    </div>
  )
}

function Connection({ service }: { service: Service }) {
  const { endpoint, connection_pooler, vpc_endpoint, project_id, service_id } = service
  const shown = vpc_endpoint ?? endpoint
  const max_connections = service.resources[0]?.spec.max_connections
  return (
    <Card
      title="Connection"
      actions={
        <ButtonLink small to={paths.service(project_id, service_id, 'connect')}>
          All ways to connect
        </ButtonLink>
      }
    >
      <Facts
        facts={[
          ['Host', <CopyText key="host" text={shown.host} what="host" />],
          ['Port', <CopyText key="port" text={String(shown.port)} what="port" />],
          ['Database', <code key="database">{master_database}</code>],
          ['User', <code key="user">{master_user}</code>],
          ['Pooler', connection_pooler === undefined ? 'off' : `port ${connection_pooler.endpoint.port}`],
          ['Network', vpc_endpoint === undefined ? 'every network of the host' : `VPC ${vpc_endpoint.vpc_id} alone`],
          ['Size', sizeInWords(service)],
          ['Sessions', max_connections !== undefined && `at most ${max_connections}`],
        ]}
      />
    </Card>
  )
}

function Protection({ service: { project_id, service_id, region_code, protection, status } }: { service: Service }) {
  const at = { project_id, service_id }
  const drill = useAct('drillService')
  const may = useMay(project_id, status)
  const { data } = useQuery(q('getCapabilities', {}))
  const offer = data?.regions.find(({ code }) => code === region_code)?.features.drills
  const not_offered = offer?.offered === false ? offer.reason : undefined
  const restorable = useQuery(q('getRestorable', at))
  const snapshots = useQuery(q('listSnapshots', at))
  const now = useNow()
  const from = restorable.data?.restorable_from
  const last = snapshots.data?.find(({ status }) => status === 'complete')
  return (
    <Card
      title="Protection"
      actions={
        <>
          <Button
            small
            reason={may('drillService') ?? not_offered}
            pending={drill.isPending}
            onPress={() => drill.mutate(at)}
          >
            Try a restore
          </Button>
          <ButtonLink small to={paths.service(project_id, service_id, 'forks')}>
            Time machine
          </ButtonLink>
        </>
      }
    >
      <Problem error={restorable.error ?? snapshots.error ?? drill.error} />
      {restorable.data === undefined ? (
        <Skeleton lines={3} />
      ) : (
        <Facts
          facts={[
            ['Recovery window', from === undefined ? restorable.data.waiting_for : lengthOf(now - Date.parse(from))],
            ['From', from !== undefined && <Time value={from} />],
            ['Last snapshot', last?.taken === undefined ? 'none yet' : <Time value={last.taken} />],
            ['Its size', last?.size_mb !== undefined && bytes(last.size_mb * 2 ** 20)],
            ['Kept', count(snapshots.data?.length ?? 0, 'snapshot')],
            [
              'Off this machine',
              protection?.last_backup_at !== undefined && <Time value={protection.last_backup_at} />,
            ],
            ['Behind', behind(protection)],
            ['Last restore tried', not_offered ?? tried(protection)],
          ]}
        />
      )}
    </Card>
  )
}

function behind({ backup_lag_seconds: seconds, backup_problem: problem }: Service['protection'] = {}) {
  return seconds !== undefined && `${seconds} s${problem === undefined ? '' : `: ${problem}`}`
}

function tried(protection: Service['protection']) {
  const { last_proven_restorable_at: proven, last_drill_error: failed } = protection ?? {}
  if (failed !== undefined) {
    return (
      <>
        <Status status="failed" /> {failed}
      </>
    )
  }
  return proven === undefined ? 'not yet' : <Time value={proven} />
}

function LastEvents({ service: { project_id, service_id } }: { service: Service }) {
  const query = { limit: last_events }
  const { data, error } = useQuery(q('listServiceEvents', { project_id, service_id, query }))
  return (
    <Card
      wide
      title="Last events"
      actions={
        <ButtonLink small to={paths.service(project_id, service_id, 'events')}>
          All events
        </ButtonLink>
      }
    >
      <Problem error={error} />
      {data === undefined ? <Skeleton /> : <EventList events={data} />}
    </Card>
  )
}
