// Makes a service: one form, and beside it the very request that it sends. The password of the answer is handed to the page of the
// new service, which shows it once.
import { useSuspenseQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { nameProblem } from '#contract/problem.ts'
import type { Service } from '#contract/service.ts'
import type { Addon } from '#contract/service-input.ts'
import { useMay } from '../may.ts'
import { Button, ButtonLink } from '../part/button.tsx'
import { CheckField, field, Segments, SelectField, TextField } from '../part/field.tsx'
import { Form } from '../part/form.tsx'
import { layout, Page } from '../part/layout.tsx'
import { Problem, problemAt } from '../part/problem.tsx'
import { paths } from '../paths.ts'
import { q, useAct } from '../query.ts'
import { useRepeat } from '../repeat.ts'
import { ReplicaChoice, replicasInWords } from '../replicas/replica-choice.tsx'
import { bodyOfSize, SizePicker } from '../service/size.tsx'
import css from './create.module.css'
import { RequestPreview } from './request-preview.tsx'

type Draft = {
  name: string
  environment: 'DEV' | 'PROD'
  region_code: string
  size: string
  addons: readonly Addon[]
  replicas: number
  sync: number
}

const first_draft: Omit<Draft, 'region_code'> = {
  name: '',
  environment: 'DEV',
  size: '500',
  addons: [],
  replicas: 0,
  sync: 0,
}

export function CreateService() {
  const { project_id = '' } = useParams({ strict: false })
  const { data: capabilities } = useSuspenseQuery(q('getCapabilities', {}))
  const region_code = capabilities.regions.find(({ is_default }) => is_default)?.code ?? ''
  const [draft, setDraft] = useState<Draft>(() => ({ ...first_draft, region_code }))
  const [touched, setTouched] = useState(false)
  const repeat = useRepeat()
  const { mutate, isPending, error } = useAct('createService')
  const navigate = useNavigate()
  const may = useMay(project_id)
  const change = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes })
  const body = bodyOf(draft)
  const name_problem = nameProblem(draft.name)
  const onSuccess = ({ service_id }: Service) => void navigate({ to: paths.service(project_id, service_id, 'connect') })
  const submit = () => {
    setTouched(true)
    if (name_problem !== undefined) return
    const { idempotency_key } = repeat(body)
    mutate({ project_id, body, idempotency_key }, { onSuccess })
  }
  return (
    <Page title="Create a service">
      <div className={css['two']}>
        <Form className={css['form']} onSubmit={submit}>
          <TextField
            label="Name"
            value={draft.name}
            onChange={(name) => change({ name })}
            onBlur={() => setTouched(draft.name !== '')}
            problem={problemAt(error, '/name') ?? (touched ? name_problem : undefined)}
            hint="It can be changed later."
            autoComplete="off"
            autoFocus
          />
          <Choices draft={draft} change={change} />
          <Problem error={error} shown_elsewhere={['/name']} />
          <div className={layout['row']}>
            <Button type="submit" kind="primary" pending={isPending} reason={may('createService')}>
              Create service
            </Button>
            <ButtonLink to={paths.services(project_id)}>Cancel</ButtonLink>
          </div>
        </Form>
        <aside className={css['side']} aria-label="The request">
          <RequestPreview project_id={project_id} body={{ ...body, name: body.name === '' ? 'NAME' : body.name }} />
        </aside>
      </div>
    </Page>
  )
}

type ChoicesProps = { draft: Draft; change: (changes: Partial<Draft>) => void }

function Choices({ draft, change }: ChoicesProps) {
  const { data: capabilities } = useSuspenseQuery(q('getCapabilities', {}))
  const region = capabilities.regions.find(({ code }) => code === draft.region_code)
  return (
    <>
      <Segments
        label="Environment"
        name="environment"
        value={draft.environment}
        options={[
          { value: 'DEV', label: 'DEV' },
          { value: 'PROD', label: 'PROD' },
        ]}
        onChange={(environment) => change({ environment })}
      />
      {capabilities.regions.length > 1 && (
        <SelectField
          label="Region"
          value={draft.region_code}
          options={capabilities.regions.map(({ code, provider }) => ({ value: code, label: `${code} (${provider})` }))}
          onChange={(region_code) => change({ region_code })}
        />
      )}
      <SizePicker value={draft.size} onChange={(size) => change({ size })} region_code={draft.region_code} />
      <fieldset className={layout['stack']}>
        <legend className={field['label']}>Addons</legend>
        {region?.addons.map(({ name, offered, reason }) => (
          <CheckField
            key={name}
            label={name === 'ai' ? 'ai: pgvector' : 'time-series: TimescaleDB'}
            checked={draft.addons.includes(name)}
            reason={offered ? undefined : (reason ?? 'not offered here')}
            onChange={(on) =>
              change({ addons: on ? [...draft.addons, name] : draft.addons.filter((one) => one !== name) })
            }
          />
        ))}
      </fieldset>
      <div className={layout['stack']}>
        <ReplicaChoice
          label="Replicas that can take over"
          replicas={draft.replicas}
          sync={draft.sync}
          onChange={change}
        />
        <p className={field['hint']}>{replicasInWords(draft.replicas, draft.sync)}</p>
      </div>
    </>
  )
}

function bodyOf({ name, environment, region_code, size, addons, replicas, sync }: Draft) {
  return {
    name: name.trim(),
    environment_tag: environment,
    region_code,
    ...bodyOfSize(size),
    ...(addons.length > 0 && { addons: [...addons] }),
    ...(replicas > 0 && { replica_count: replicas, sync_replica_count: sync }),
  }
}
