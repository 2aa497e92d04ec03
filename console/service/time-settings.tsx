// What of a service follows the clock: its snapshots, and its end.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { duration_pattern } from '#contract/problem.ts'
import type { Service } from '#contract/service.ts'
import { useMay } from '../may.ts'
import { Button } from '../part/button.tsx'
import { SelectField, TextField } from '../part/field.tsx'
import { Card, layout } from '../part/layout.tsx'
import { Problem, problemAt } from '../part/problem.tsx'
import { lengthOf } from '../part/length.ts'
import { exact } from '../part/time.tsx'
import { toast } from '../part/toast.tsx'
import { q, useAct } from '../query.ts'
import { type Ending, ending_options, endings } from './ending.tsx'

export function SnapshotSetting({ service }: { service: Service }) {
  const { project_id, service_id, snapshot_policy } = service
  const { data } = useQuery(q('getCapabilities', {}))
  const [typed, setTyped] = useState<{ every: string; keep: string }>()
  const { every, keep } = typed ?? { every: snapshot_policy?.every ?? '', keep: snapshot_policy?.keep ?? '' }
  const { mutate, isPending, error } = useAct('setSnapshotPolicy')
  const may = useMay(project_id, service.status)
  const usual = data?.retention.snapshots
  const isWrong = (text: string) => text !== '' && !new RegExp(duration_pattern).test(text)
  const problem = [every, keep].some(isWrong) ? 'a duration is a number with m, h, d or w, such as 6h' : undefined
  const half = (every === '') === (keep === '') ? undefined : 'both, or neither'
  const is_same = typed === undefined ? 'nothing is changed' : undefined
  const body = every === '' ? {} : { every, keep }
  const onSuccess = () => {
    setTyped(undefined)
    toast('The schedule of snapshots is changed')
  }
  return (
    <Card
      title="Snapshots"
      actions={
        <Button
          reason={may('setSnapshotPolicy') ?? is_same ?? problem ?? half}
          pending={isPending}
          onPress={() => mutate({ project_id, service_id, body }, { onSuccess })}
        >
          Apply
        </Button>
      }
    >
      <div className={`${layout['row']} ${layout['rowend']}`}>
        <TextField
          label="Every"
          value={every}
          onChange={(next) => setTyped({ every: next, keep })}
          placeholder="6h"
          problem={problemAt(error, '/every')}
        />
        <TextField
          label="Kept for"
          value={keep}
          onChange={(next) => setTyped({ every, keep: next })}
          placeholder="7d"
          problem={problemAt(error, '/keep')}
        />
      </div>
      <p className={layout['muted']}>
        Left empty: as the installation does it
        {usual === undefined
          ? ''
          : `, every ${lengthOf(usual.interval_seconds * 1000)}, the last ${usual.kept} of them`}
        .
      </p>
      <Problem error={error} shown_elsewhere={['/every', '/keep']} />
    </Card>
  )
}

export function EndSetting({ service }: { service: Service }) {
  const { project_id, service_id, expires_at } = service
  // Empty: as it is.
  const [end, setEnd] = useState<Ending | ''>('')
  const { mutate, isPending, error } = useAct('setExpiry')
  const may = useMay(project_id, service.status)
  const known = expires_at === undefined ? undefined : exact(Date.parse(expires_at), { ms: false })
  const options = [
    { value: '', label: known === undefined ? 'never' : `at ${known}` },
    ...ending_options.filter(({ value }) => known !== undefined || value !== 'never'),
  ] as const
  const apply = () => {
    if (end === '') return
    const body = { expires_at: end === 'never' ? null : new Date(Date.now() + endings[end]).toISOString() }
    mutate({ project_id, service_id, body }, { onSuccess: () => setEnd('') })
  }
  return (
    <Card
      title="End"
      actions={
        <Button
          reason={may('setExpiry') ?? (end === '' ? 'nothing is changed' : undefined)}
          pending={isPending}
          onPress={apply}
        >
          Apply
        </Button>
      }
    >
      <SelectField label="Ends by itself" value={end} options={options} onChange={setEnd} />
      <p className={layout['muted']}>
        {known === undefined ? 'It stays until it is deleted.' : `It is deleted by itself at ${known}.`}
      </p>
      <Problem error={error} />
    </Card>
  )
}
