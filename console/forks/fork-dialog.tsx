// Makes a fork: of now, of the last snapshot, or of a moment that was chosen before. A fork is a service of its own, so its password
// is shown once.
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Service } from '#contract/service.ts'
import type { ForkStrategy } from '#contract/snapshot.ts'
import { FormDialog } from '../part/dialog.tsx'
import { Segments, TextField } from '../part/field.tsx'
import { layout } from '../part/layout.tsx'
import { exact } from '../part/time.tsx'
import { paths } from '../paths.ts'
import { useAct } from '../query.ts'
import { useRepeat } from '../repeat.ts'
import { type Ending, EndingField, endings } from '../service/ending.tsx'
import { bodyOfSize, sizeOf, SizePicker } from '../service/size.tsx'

type ForkProps = {
  service: Service
  onClose: () => void
  strategy?: ForkStrategy
  /** For PITR. */
  target_time?: string
}

const strategies = [
  { value: 'NOW', label: 'As it is now' },
  { value: 'LAST_SNAPSHOT', label: 'Its last snapshot' },
] as const

export function ForkDialog({ service, onClose, strategy: given = 'NOW', target_time }: ForkProps) {
  const [name, setName] = useState(`${service.name}-fork`)
  const [size, setSize] = useState(sizeOf(service))
  const [environment, setEnvironment] = useState<'DEV' | 'PROD'>('DEV')
  const [end, setEnd] = useState<Ending>('never')
  const [strategy, setStrategy] = useState<ForkStrategy>(given)
  const [mask, setMask] = useState('')
  const repeat = useRepeat()
  const { mutate, isPending, error } = useAct('forkService')
  const navigate = useNavigate()
  const { project_id, service_id } = service
  const body = {
    fork_strategy: strategy,
    name,
    environment_tag: environment,
    ...bodyOfSize(size),
    ...(target_time !== undefined && { target_time }),
    ...(mask.trim() !== '' && { mask }),
  }
  const submit = () => {
    const { idempotency_key, at } = repeat({ ...body, end })
    const expires_at = end === 'never' ? {} : { expires_at: new Date(at + endings[end]).toISOString() }
    mutate({ project_id, service_id, body: { ...body, ...expires_at }, idempotency_key }, { onSuccess })
  }
  const onSuccess = (fork: Service) => {
    onClose()
    void navigate({ to: paths.service(project_id, fork.service_id, 'connect') })
  }
  return (
    <FormDialog
      title={`Fork ${service.name}`}
      onClose={onClose}
      submit="Fork"
      pending={isPending}
      error={error}
      onSubmit={submit}
    >
      {target_time === undefined ? (
        <Segments
          label="Of which moment"
          name="strategy"
          value={strategy}
          options={strategies}
          onChange={setStrategy}
        />
      ) : (
        <p>
          As it was at <strong>{exact(Date.parse(target_time))}</strong>.
        </p>
      )}
      <TextField label="Name" value={name} onChange={setName} maxLength={128} autoComplete="off" />
      <SizePicker value={size} onChange={setSize} region_code={service.region_code} />
      <EnvironmentField value={environment} onChange={setEnvironment} />
      <EndingField value={end} onChange={setEnd} />
      <MaskField value={mask} onChange={setMask} />
      <p className={layout['muted']}>A fork is a service of its own: nothing in it changes {service.name}.</p>
    </FormDialog>
  )
}

type FieldProps<Value> = { value: Value; onChange: (value: Value) => void }

function EnvironmentField(props: FieldProps<'DEV' | 'PROD'>) {
  const options = [
    { value: 'DEV', label: 'DEV' },
    { value: 'PROD', label: 'PROD' },
  ] as const
  return <Segments label="Environment" name="environment" options={options} {...props} />
}

function MaskField(props: FieldProps<string>) {
  return (
    <TextField
      label="Mask (SQL), if any"
      hint="Run in the fork as tsdbadmin before any login. If it fails, the fork stays closed."
      mono
      maxLength={65_536}
      autoComplete="off"
      {...props}
    />
  )
}
