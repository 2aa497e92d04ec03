// Makes a token and shows its secret once: it is in this dialog alone, and goes with it.
import { useState } from 'react'
import type { Role } from '#contract/endpoint.ts'
import { nameProblem } from '#contract/problem.ts'
import { CopyButton } from '../part/copy.tsx'
import { Dialog, FormDialog } from '../part/dialog.tsx'
import { SelectField, TextField } from '../part/field.tsx'
import { KeepIt } from '../part/keep-it.tsx'
import { layout } from '../part/layout.tsx'
import { problemAt } from '../part/problem.tsx'
import { useAct } from '../query.ts'
import css from './people.module.css'
import { RoleField } from './role-field.tsx'

const day_ms = 86_400_000
const ends = [
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
  { value: '', label: 'Never' },
] as const
type End = (typeof ends)[number]['value']

export function CreateToken({ project_id, onClose }: { project_id: string; onClose: () => void }) {
  const [secret, setSecret] = useState<string>()
  if (secret !== undefined) return <Secret secret={secret} onClose={onClose} />
  return <TokenForm project_id={project_id} onClose={onClose} onMade={setSecret} />
}

type FormProps = { project_id: string; onClose: () => void; onMade: (secret: string) => void }

function TokenForm({ project_id, onClose, onMade }: FormProps) {
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('developer')
  const [end, setEnd] = useState<End>('90')
  const { mutate, isPending, error } = useAct('createToken')
  const expires_at = end === '' ? {} : { expires_at: new Date(Date.now() + Number(end) * day_ms).toISOString() }
  const onSuccess = ({ public_key, secret_key }: { public_key: string; secret_key: string }) =>
    onMade(`${public_key}.${secret_key}`)
  return (
    <FormDialog
      title="Create a token"
      onClose={onClose}
      submit="Create"
      pending={isPending}
      error={error}
      shown_elsewhere={['/name']}
      reason={name === '' ? 'say what it is for' : nameProblem(name)}
      onSubmit={() => mutate({ project_id, body: { name, role, ...expires_at } }, { onSuccess })}
    >
      <TextField
        label="What it is for"
        value={name}
        onChange={setName}
        problem={problemAt(error, '/name')}
        placeholder="ci"
        autoComplete="off"
      />
      <RoleField project_id={project_id} value={role} onChange={setRole} />
      <SelectField label="It ends" value={end} options={ends} onChange={setEnd} />
    </FormDialog>
  )
}

function Secret({ secret, onClose }: { secret: string; onClose: () => void }) {
  const [has_it, setHasIt] = useState(false)
  return (
    <Dialog title="The token, shown once" open onClose={() => has_it && onClose()}>
      <p>Only its hash is stored. If it is lost, revoke it and create another one.</p>
      <code className={css['secret']} data-testid="token">
        {secret}
      </code>
      <div className={layout['row']}>
        <CopyButton text={secret} label="Copy the token" />
        <CopyButton text={`export HOWDAH_TOKEN=${secret}`} label="Copy as HOWDAH_TOKEN=" />
      </div>
      <KeepIt what="token" has_it={has_it} onHasIt={setHasIt} onClose={onClose} />
    </Dialog>
  )
}
