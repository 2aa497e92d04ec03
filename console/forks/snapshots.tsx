// The snapshots of a service: take one, delete one. The last complete one stays, because recovery stands on it.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Api } from '#contract/api.ts'
import type { OutputOf } from '#contract/endpoint.ts'
import type { Service } from '#contract/service.ts'
import { useMay } from '../may.ts'
import { bytes } from '../part/amount.ts'
import { Button, RemoveButton } from '../part/button.tsx'
import { ConfirmAct } from '../confirm-act.tsx'
import { Card, Skeleton } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { Status } from '../part/status.tsx'
import { Table } from '../part/table.tsx'
import { Time } from '../part/time.tsx'
import { q, useAct } from '../query.ts'

export function Snapshots({ service }: { service: Service }) {
  const { project_id, service_id } = service
  const { data, error } = useQuery(q('listSnapshots', { project_id, service_id }))
  const take = useAct('takeSnapshot')
  const [removing, setRemoving] = useState<string>()
  const may = useMay(project_id, service.status)
  return (
    <Card
      title="Snapshots"
      actions={
        <Button
          small
          icon="plus"
          reason={may('takeSnapshot')}
          pending={take.isPending}
          onPress={() => take.mutate({ project_id, service_id })}
        >
          Take one now
        </Button>
      }
    >
      <Problem error={error ?? take.error} />
      {data === undefined ? (
        <Skeleton />
      ) : (
        <SnapshotTable snapshots={data} reason={may('deleteSnapshot')} onRemove={setRemoving} />
      )}
      {removing !== undefined && (
        <ConfirmAct
          act="deleteSnapshot"
          input={{ project_id, service_id, snapshot_id: removing }}
          confirmation={{
            title: 'Delete this snapshot?',
            button: 'Delete',
            lines: ['If it is the oldest, moments between it and the next one can no longer be restored.'],
          }}
          onClose={() => setRemoving(undefined)}
        />
      )}
    </Card>
  )
}

const is_last = 'the last complete one stays: recovery stands on it'

type TableProps = {
  snapshots: OutputOf<Api['listSnapshots']>
  reason: string | undefined
  onRemove: (id: string) => void
}

function SnapshotTable({ snapshots, reason, onRemove }: TableProps) {
  const complete = snapshots.filter(({ status }) => status === 'complete').length
  return (
    <Table
      label="Snapshots"
      rows={snapshots}
      keyOf={({ id }) => id}
      columns={[
        { label: 'Taken', cell: ({ taken, requested }) => <Time value={taken ?? requested} /> },
        { label: 'Kind', cell: ({ kind }) => kind },
        { label: 'Status', cell: ({ status }) => <Status status={status} /> },
        { label: 'Size', cell: ({ size_mb }) => (size_mb === undefined ? '–' : bytes(size_mb * 2 ** 20)) },
        {
          label: 'Acts',
          end: true,
          cell: ({ id, status }) => (
            <RemoveButton
              label="Delete the snapshot"
              reason={reason ?? (status === 'complete' && complete === 1 ? is_last : undefined)}
              onPress={() => onRemove(id)}
            />
          ),
        },
      ]}
    />
  )
}
