// Gives a service another size.
import { useState } from 'react'
import type { Service } from '#contract/service.ts'
import { Consequences, FormDialog } from '../part/dialog.tsx'
import { toast } from '../part/toast.tsx'
import { useAct } from '../query.ts'
import { bodyOfSize, sizeOf, SizePicker } from './size.tsx'

export function ResizeDialog({ service, onClose }: { service: Service; onClose: () => void }) {
  const [size, setSize] = useState(sizeOf(service))
  const { mutate, isPending, error } = useAct('resizeService')
  const { project_id, service_id } = service
  const onSuccess = () => {
    onClose()
    toast(`${service.name} is getting its new size`)
  }
  return (
    <FormDialog
      title={`Resize ${service.name}`}
      onClose={onClose}
      submit="Resize"
      pending={isPending}
      error={error}
      reason={size === sizeOf(service) ? 'it has this size already' : undefined}
      onSubmit={() => mutate({ project_id, service_id, body: bodyOfSize(size) }, { onSuccess })}
    >
      <SizePicker value={size} onChange={setSize} region_code={service.region_code} />
      <Consequences lines={['Open sessions end for a moment; clients reconnect at the same endpoint.']} />
    </FormDialog>
  )
}
