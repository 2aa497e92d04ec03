// The dialogs of read replica sets: create, resize, delete.
import { useState } from 'react'
import { nameProblem } from '#contract/problem.ts'
import { nodes_max, type ReadReplicaSet } from '#contract/replica-set.ts'
import type { Service } from '#contract/service.ts'
import { ConfirmAct } from '../confirm-act.tsx'
import { FormDialog } from '../part/dialog.tsx'
import { SelectField, TextField } from '../part/field.tsx'
import { problemAt } from '../part/problem.tsx'
import { useAct } from '../query.ts'
import { bodyOfSize, SizePicker } from '../service/size.tsx'

export function CreateSetDialog({ service, onClose }: { service: Service; onClose: () => void }) {
  const [name, setName] = useState('')
  const [nodes, setNodes] = useState('1')
  const [size, setSize] = useState('500')
  const { mutate, isPending, error } = useAct('createReplicaSet')
  const { project_id, service_id } = service
  const body = { name, nodes: Number(nodes), ...bodyOfSize(size) }
  return (
    <FormDialog
      title="Create a read replica set"
      onClose={onClose}
      submit="Create"
      pending={isPending}
      error={error}
      shown_elsewhere={['/name', '/nodes']}
      reason={name === '' ? 'it needs a name' : nameProblem(name)}
      onSubmit={() => mutate({ project_id, service_id, body }, { onSuccess: onClose })}
    >
      <TextField label="Name" value={name} onChange={setName} problem={problemAt(error, '/name')} autoComplete="off" />
      <SelectField
        label="Nodes"
        value={nodes}
        options={Array.from({ length: nodes_max }, (_, index) => ({
          value: String(index + 1),
          label: String(index + 1),
        }))}
        onChange={setNodes}
        problem={problemAt(error, '/nodes')}
        hint="They share one endpoint; a node that is down or far behind gets no readers."
      />
      <SizePicker value={size} onChange={setSize} region_code={service.region_code} without_shared />
    </FormDialog>
  )
}

type SetProps = { service: Service; set: ReadReplicaSet; onClose: () => void }

export function ResizeSetDialog({ service, set, onClose }: SetProps) {
  const [size, setSize] = useState(String(set.cpu_millis))
  const { mutate, isPending, error } = useAct('resizeReplicaSet')
  const { project_id, service_id } = service
  return (
    <FormDialog
      title={`Resize ${set.name}`}
      onClose={onClose}
      submit="Resize"
      pending={isPending}
      error={error}
      reason={size === String(set.cpu_millis) ? 'its nodes have this size already' : undefined}
      onSubmit={() =>
        mutate({ project_id, service_id, replica_set_id: set.id, body: bodyOfSize(size) }, { onSuccess: onClose })
      }
    >
      <SizePicker value={size} onChange={setSize} region_code={service.region_code} without_shared />
    </FormDialog>
  )
}

export function RemoveSetDialog({ service, set, onClose }: SetProps) {
  const { project_id, service_id } = service
  return (
    <ConfirmAct
      act="deleteReplicaSet"
      input={{ project_id, service_id, replica_set_id: set.id }}
      confirmation={{
        title: `Delete ${set.name}?`,
        button: 'Delete',
        lines: ['Sessions at its endpoint end.', 'The service itself and its data stay.'],
      }}
      onClose={onClose}
    />
  )
}
