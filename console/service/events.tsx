// Everything that happened to a service, newest first, by kind and by words.
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Card, Empty, layout, Skeleton } from '../part/layout.tsx'
import { OlderEvents, useEventLimit } from '../part/older.tsx'
import { Problem } from '../part/problem.tsx'
import { SelectField, TextField } from '../part/field.tsx'
import { q } from '../query.ts'
import { useView } from '../search.ts'
import { EventList } from './event-list.tsx'
import { useService } from './frame.tsx'

export function Events() {
  const { project_id, service_id } = useService()
  const { limit, more } = useEventLimit()
  const { data, error, refetch, isPlaceholderData } = useQuery({
    ...q('listServiceEvents', { project_id, service_id, query: { limit } }),
    placeholderData: keepPreviousData,
  })
  const [{ kind = '', q: text = '' }, setView] = useView()
  const kinds = [...new Set((data ?? []).map((event) => event.kind))].toSorted()
  const shown = data?.filter(
    (event) => (kind === '' || event.kind === kind) && event.message.toLowerCase().includes(text.toLowerCase()),
  )
  return (
    <div className={layout['stack']}>
      <div className={`${layout['row']} ${layout['rowend']}`}>
        <TextField label="Words" type="search" value={text} onChange={(value) => setView({ q: value })} />
        <SelectField
          label="Kind"
          value={kind}
          options={[{ value: '', label: 'Every kind' }, ...kinds.map((value) => ({ value, label: value }))]}
          onChange={(value) => setView({ kind: value })}
        />
      </div>
      <Problem error={error} onRetry={() => void refetch()} />
      {shown === undefined && <Skeleton lines={8} />}
      {shown?.length === 0 && <Empty title="No event fits" text="Other words or another kind may." />}
      {shown !== undefined && shown.length > 0 && (
        <Card>
          <EventList events={shown} />
        </Card>
      )}
      {data !== undefined && <OlderEvents {...{ limit, more }} shown={data.length} pending={isPlaceholderData} />}
    </div>
  )
}
