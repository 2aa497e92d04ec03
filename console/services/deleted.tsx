// Deleted services that can still be brought back: below the list of those that live.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { DeletedService } from '#contract/deletion.ts'
import { useMay } from '../may.ts'
import { Button } from '../part/button.tsx'
import { ConfirmAct } from '../confirm-act.tsx'
import { Card } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { Table } from '../part/table.tsx'
import { Time } from '../part/time.tsx'
import { toast } from '../part/toast.tsx'
import { q, useAct } from '../query.ts'

export function DeletedServices({ project_id }: { project_id: string }) {
  const { data = [] } = useQuery(q('listDeletedServices', { project_id }))
  const may = useMay(project_id)
  const restore = useAct('restoreDeletedService')
  const [purging, setPurging] = useState<DeletedService>()
  if (data.length === 0) return null
  const bringBack = ({ service_id, name }: DeletedService) =>
    restore.mutate({ project_id, service_id }, { onSuccess: () => toast(`${name} comes back`) })
  return (
    <Card title="Deleted">
      <Problem error={restore.error} />
      <Table
        label="Deleted services"
        rows={data}
        keyOf={({ service_id }) => service_id}
        columns={[
          { label: 'Name', cell: ({ name }) => name },
          { label: 'Id', cell: ({ service_id }) => <code>{service_id}</code> },
          { label: 'Deleted', cell: ({ deleted_at }) => <Time value={deleted_at} /> },
          { label: 'Kept until', cell: ({ kept_until }) => <Time value={kept_until} /> },
          {
            label: 'Acts',
            end: true,
            cell: (service) => (
              <>
                <Button small reason={may('restoreDeletedService')} onPress={() => bringBack(service)}>
                  Restore
                </Button>{' '}
                <Button small kind="quiet" reason={may('purgeDeletedService')} onPress={() => setPurging(service)}>
                  Remove for ever
                </Button>
              </>
            ),
          },
        ]}
      />
      {purging !== undefined && (
        <ConfirmAct
          act="purgeDeletedService"
          input={{ project_id, service_id: purging.service_id }}
          confirmation={{
            title: `Remove ${purging.name} for ever?`,
            button: 'Remove for ever',
            lines: ['All its data is removed, with every snapshot: it cannot be restored any more.'],
            typed: purging.metadata.environment === 'PROD' ? purging.name : undefined,
          }}
          onClose={() => setPurging(undefined)}
        />
      )}
    </Card>
  )
}
