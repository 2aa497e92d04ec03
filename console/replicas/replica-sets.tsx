// The read replica sets of a service: standbys that only read, behind one endpoint each.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReadReplicaSet } from '#contract/replica-set.ts'
import type { Service } from '#contract/service.ts'
import { useMay } from '../may.ts'
import { AsCommand } from '../part/as-command.tsx'
import { cores, count } from '../part/amount.ts'
import { Button, iconTrigger } from '../part/button.tsx'
import { CopyText } from '../part/copy.tsx'
import { Card, Empty, Facts, layout } from '../part/layout.tsx'
import type { Act } from '../part/act.ts'
import { Menu } from '../part/menu.tsx'
import { Problem } from '../part/problem.tsx'
import { Env, Status } from '../part/status.tsx'
import { q, useAct } from '../query.ts'
import { NodeTable } from '../service/nodes.tsx'
import { CreateSetDialog, RemoveSetDialog, ResizeSetDialog } from './set-dialogs.tsx'

export function ReplicaSets({ service }: { service: Service }) {
  const { project_id, service_id } = service
  const { data: sets, error } = useQuery(q('listReplicaSets', { project_id, service_id }))
  const [creating, setCreating] = useState(false)
  const may = useMay(project_id, service.status)
  return (
    <Card
      wide
      title="Read replica sets"
      actions={
        <Button icon="plus" reason={may('createReplicaSet')} onPress={() => setCreating(true)}>
          Create a set
        </Button>
      }
    >
      <Problem error={error} />
      {sets?.length === 0 && (
        <Empty title="No read replica set" text="A set is one to ten standbys that only read, behind one endpoint.">
          <AsCommand
            command={`howdah replica-set create ${service_id} readers --project ${project_id} --nodes 1`}
            path={`/projects/${project_id}/services/${service_id}/replicaSets`}
            body={{ name: 'readers', nodes: 1 }}
          />
        </Empty>
      )}
      <div className={layout['grid']}>
        {sets?.map((set) => (
          <SetCard key={set.id} service={service} set={set} />
        ))}
      </div>
      {creating && <CreateSetDialog service={service} onClose={() => setCreating(false)} />}
    </Card>
  )
}

function SetCard({ service, set }: { service: Service; set: ReadReplicaSet }) {
  const [opened, setOpened] = useState<'resize' | 'remove'>()
  const { acts, error } = useSetActs(service, set, setOpened)
  const close = () => setOpened(undefined)
  return (
    <Card
      title={set.name}
      actions={<Menu trigger={iconTrigger(`Acts on ${set.name}`, { small: true, kind: 'quiet' })} groups={acts} />}
    >
      <div className={layout['row']}>
        <Status status={set.status} />
        <Env environment={set.metadata.environment} />
      </div>
      <Facts
        facts={[
          ['Nodes', count(set.nodes, 'node')],
          ['Each', `${cores(set.cpu_millis)} · ${set.memory_gbs} GB`],
          ['Address', <CopyText key="at" text={`${set.endpoint.host}:${set.endpoint.port}`} what="address" />],
          ['Pooler', set.connection_pooler === undefined ? 'off' : `port ${set.connection_pooler.endpoint.port}`],
          ['Id', <CopyText key="id" text={set.id} what="id" />],
        ]}
      />
      {set.members !== undefined && <NodeTable label={`Nodes of ${set.name}`} nodes={set.members} wanted={set.nodes} />}
      <Problem error={error} />
      {opened === 'resize' && <ResizeSetDialog service={service} set={set} onClose={close} />}
      {opened === 'remove' && <RemoveSetDialog service={service} set={set} onClose={close} />}
    </Card>
  )
}

function useSetActs(service: Service, set: ReadReplicaSet, open: (what: 'resize' | 'remove') => void) {
  const { project_id, service_id, status } = service
  const may = useMay(project_id, status)
  const enable = useAct('enableReplicaSetPooler')
  const disable = useAct('disableReplicaSetPooler')
  const tag = useAct('setReplicaSetEnvironment')
  const input = { project_id, service_id, replica_set_id: set.id }
  const other = set.metadata.environment === 'DEV' ? 'PROD' : 'DEV'
  const pooler: Act =
    set.connection_pooler === undefined
      ? { label: 'Enable the pooler', reason: may('enableReplicaSetPooler'), run: () => enable.mutate(input) }
      : { label: 'Disable the pooler', reason: may('disableReplicaSetPooler'), run: () => disable.mutate(input) }
  const acts: Act[][] = [
    [
      { label: 'Resize', reason: may('resizeReplicaSet'), run: () => open('resize') },
      pooler,
      {
        label: `Make it ${other}`,
        reason: may('setReplicaSetEnvironment'),
        run: () => tag.mutate({ ...input, body: { environment: other } }),
      },
    ],
    [{ label: 'Delete', danger: true, reason: may('deleteReplicaSet'), run: () => open('remove') }],
  ]
  return { acts, error: enable.error ?? disable.error ?? tag.error }
}
