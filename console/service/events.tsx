// Everything that happened to a service, newest first, by kind and by words.
import { KindField, OlderEvents, useEventPages } from '../event-pages.tsx'
import { TextField } from '../part/field.tsx'
import { Card, Empty, layout, Skeleton } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { useView } from '../search.ts'
import { EventList } from './event-list.tsx'
import { useService } from './frame.tsx'

export function Events() {
  const { project_id, service_id } = useService()
  const [{ kind = '', q: text = '' }, setView] = useView()
  const { events, error, onRetry, older } = useEventPages({ project_id, service_id, kind })
  const shown = events?.filter(({ message }) => message.toLowerCase().includes(text.toLowerCase()))
  const hint = older.are_there
    ? 'Other words or another kind may, or older events.'
    : 'Other words or another kind may.'
  return (
    <div className={layout['stack']}>
      <div className={`${layout['row']} ${layout['rowend']}`}>
        <TextField label="Words" type="search" value={text} onChange={(value) => setView({ q: value })} />
        <KindField kind={kind} onChange={(value) => setView({ kind: value })} />
      </div>
      <Problem error={error} onRetry={onRetry} />
      {shown === undefined && <Skeleton lines={8} />}
      {shown?.length === 0 && <Empty title="No event fits" text={hint} />}
      {shown !== undefined && shown.length > 0 && (
        <Card>
          <EventList events={shown} />
        </Card>
      )}
      <OlderEvents older={older} />
    </div>
  )
}
