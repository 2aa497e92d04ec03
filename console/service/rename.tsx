// Another name for a service, where its name stands: there is a field in its place. Enter saves, Escape leaves it as it was.
import { queryOptions, skipToken, useQuery } from '@tanstack/react-query'
import { type ReactElement, type RefObject, useEffect, useRef, useState } from 'react'
import type { Service } from '#contract/service.ts'
import { name_characters_max, nameProblem } from '#contract/problem.ts'
import { Button } from '../part/button.tsx'
import { Form } from '../part/form.tsx'
import { Problem } from '../part/problem.tsx'
import { queries, useAct } from '../query.ts'
import css from './rename.module.css'

/** The id of the service whose name is in a field, in the query cache. It is never asked for. */
const renamed = queryOptions<string>({ queryKey: ['renamed'], queryFn: skipToken, gcTime: Infinity })

export function beginRename(service_id: string): void {
  queries.setQueryData(renamed.queryKey, service_id)
}

function endRename(service_id: string): void {
  queries.setQueryData(renamed.queryKey, (current) => (current === service_id ? '' : current))
}

function useIsRenamed(service_id: string): boolean {
  return useQuery(renamed).data === service_id
}

/** The field, while there is one. Afterwards what shows the name has the focus. */
export function useRename(service: Service, shown: RefObject<HTMLElement | null>): ReactElement | undefined {
  const { project_id, service_id, name } = service
  const { mutate, isPending, error, reset } = useAct('renameService')
  const [typed, setTyped] = useState<string>()
  const is_open = useIsRenamed(service_id) && !isPending
  const was_open = useRef(false)
  useEffect(() => {
    if (was_open.current && !is_open) shown.current?.focus()
    was_open.current = is_open
  }, [is_open, shown])
  useEffect(() => () => endRename(service_id), [service_id])
  if (!is_open) return undefined
  const close = () => {
    setTyped(undefined)
    reset()
    endRename(service_id)
  }
  const save = () => {
    const next = (typed ?? name).trim()
    if (next === name) close()
    else if (nameProblem(next) === undefined)
      mutate({ project_id, service_id, body: { name: next } }, { onSuccess: close })
  }
  return <NameForm {...{ name, error, save, close }} value={typed ?? name} onChange={setTyped} />
}

type FormProps = {
  name: string
  value: string
  error: Error | null
  onChange: (value: string) => void
  save: () => void
  close: () => void
}

function NameForm({ name, value, error, onChange, save, close }: FormProps) {
  return (
    <Form className={css['form']} onSubmit={save} onEscape={close}>
      <div className={css['line']}>
        <input
          autoFocus
          className={css['input']}
          aria-label={`Name of ${name}`}
          aria-invalid={nameProblem(value) === undefined ? undefined : true}
          autoComplete="off"
          spellCheck={false}
          maxLength={name_characters_max}
          value={value}
          onFocus={(event) => event.target.select()}
          onChange={(event) => onChange(event.target.value)}
        />
        <Button small type="submit" kind="primary" reason={nameProblem(value)}>
          Save
        </Button>
        <Button small onPress={close}>
          Cancel
        </Button>
      </div>
      <Problem error={error} />
    </Form>
  )
}
