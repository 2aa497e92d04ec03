// What stands beside a service: replicas that can take over, the connection pooler, and read replica sets.
import { useState } from 'react'
import { useQuery } from '@tanstack/react-query'
import type { Service } from '#contract/service.ts'
import { useMay } from '../may.ts'
import { Button } from '../part/button.tsx'
import { Card, Facts, layout } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { toast } from '../part/toast.tsx'
import { q, useAct } from '../query.ts'
import { useService } from '../service/frame.tsx'
import { InterruptingButton } from '../service/interrupting-button.tsx'
import { NodeTable } from '../service/nodes.tsx'
import { ReplicaChoice, replicasInWords } from './replica-choice.tsx'
import { ReplicaSets } from './replica-sets.tsx'

export function Replicas() {
  const service = useService()
  return (
    <div className={layout['pair']}>
      <Availability service={service} />
      <Pooler service={service} />
      <ReplicaSets service={service} />
    </div>
  )
}

function Availability({ service }: { service: Service }) {
  const { project_id, service_id, ha_replicas } = service
  const [chosen, setChosen] = useState<{ replicas: number; sync: number }>()
  // Until a number is chosen here, those of the service are shown, also when another member changes them.
  const { replicas, sync } = chosen ?? { replicas: ha_replicas.replica_count, sync: ha_replicas.sync_replica_count }
  const setHA = useAct('setHA')
  const may = useMay(project_id, service.status)
  const is_same = replicas === ha_replicas.replica_count && sync === ha_replicas.sync_replica_count
  return (
    <Card title="Replicas that can take over" actions={<Switchover service={service} />}>
      {service.replicas !== undefined && (
        <NodeTable label="Nodes" nodes={service.replicas} wanted={ha_replicas.replica_count + 1} />
      )}
      <ReplicaChoice label="How many" replicas={replicas} sync={sync} onChange={setChosen} />
      <p className={layout['muted']}>{replicasInWords(replicas, sync)}</p>
      <div className={layout['row']}>
        <InterruptingButton
          name="setHA"
          service={service}
          kind="primary"
          reason={may('setHA') ?? (is_same ? 'nothing would change' : undefined)}
          is_harmless={replicas >= ha_replicas.replica_count && sync >= ha_replicas.sync_replica_count}
          mutation={setHA}
          run={({ onSuccess }) =>
            setHA.mutate(
              { project_id, service_id, body: { replica_count: replicas, sync_replica_count: sync } },
              {
                onSuccess: () => {
                  onSuccess()
                  setChosen(undefined)
                  toast('The replicas are being changed')
                },
              },
            )
          }
        >
          Apply
        </InterruptingButton>
      </div>
    </Card>
  )
}

function Switchover({ service }: { service: Service }) {
  const { project_id, service_id, ha_replicas } = service
  const switchover = useAct('switchover')
  const may = useMay(project_id, service.status)
  const none = ha_replicas.replica_count === 0 ? 'there is no replica to switch to' : undefined
  return (
    <InterruptingButton
      name="switchover"
      service={service}
      reason={may('switchover') ?? none}
      mutation={switchover}
      run={(after) => switchover.mutate({ project_id, service_id }, after)}
    >
      Switch over
    </InterruptingButton>
  )
}

function Pooler({ service }: { service: Service }) {
  const { connection_pooler: pooler } = service
  return (
    <Card
      title="Connection pooler"
      actions={pooler === undefined ? <EnablePooler service={service} /> : <DisablePooler service={service} />}
    >
      <p className={layout['muted']}>
        PgBouncer at a port of its own: database tsdb pools by session, tsdb_transaction by transaction. Every role logs
        in with its own password.
      </p>
      {pooler !== undefined && (
        <Facts
          facts={[
            ['Address', <code key="at">{`${pooler.endpoint.host}:${pooler.endpoint.port}`}</code>],
            ['Clients', pooler.max_client_connections && `at most ${pooler.max_client_connections} at once`],
            [
              'Sessions',
              pooler.pool_size && `at most ${pooler.pool_size} of PostgreSQL for each role, which its clients share`,
            ],
          ]}
        />
      )}
    </Card>
  )
}

function EnablePooler({ service }: { service: Service }) {
  const { project_id, service_id } = service
  const { data } = useQuery(q('getCapabilities', {}))
  const { mutate, isPending, error } = useAct('enablePooler')
  const may = useMay(project_id, service.status)
  const offer = data?.regions.find(({ code }) => code === service.region_code)?.features.pooler
  const reason = may('enablePooler') ?? (offer?.offered === false ? offer.reason : undefined)
  return (
    <>
      <Button kind="primary" reason={reason} pending={isPending} onPress={() => mutate({ project_id, service_id })}>
        Enable
      </Button>
      <Problem error={error} />
    </>
  )
}

function DisablePooler({ service }: { service: Service }) {
  const { project_id, service_id } = service
  const disable = useAct('disablePooler')
  const may = useMay(project_id, service.status)
  return (
    <InterruptingButton
      name="disablePooler"
      service={service}
      reason={may('disablePooler')}
      mutation={disable}
      run={(after) => disable.mutate({ project_id, service_id }, after)}
    >
      Disable
    </InterruptingButton>
  )
}
