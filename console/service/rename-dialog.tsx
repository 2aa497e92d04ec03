// Gives a service another name.
import { useState } from 'react'
import type { Service } from '#contract/service.ts'
import { nameProblem } from '#contract/problem.ts'
import { FormDialog } from '../part/dialog.tsx'
import { TextField } from '../part/field.tsx'
import { useAct } from '../query.ts'

export function RenameDialog({ service, onClose }: { service: Service; onClose: () => void }) {
  const [name, setName] = useState(service.name)
  const { mutate, isPending, error } = useAct('renameService')
  const { project_id, service_id } = service
  return (
    <FormDialog
      title={`Rename ${service.name}`}
      onClose={onClose}
      submit="Rename"
      pending={isPending}
      error={error}
      reason={nameProblem(name)}
      onSubmit={() => mutate({ project_id, service_id, body: { name } }, { onSuccess: onClose })}
    >
      <TextField label="Name" value={name} onChange={setName} maxLength={128} autoComplete="off" />
    </FormDialog>
  )
}
