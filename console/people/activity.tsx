// What happened to all services of the project, newest first: what happened to one service within a minute stands together.
import { Link, useParams } from '@tanstack/react-router'
import { KindField, OlderEvents, type ProjectEvent, useEventPages } from '../event-pages.tsx'
import { ButtonLink } from '../part/button.tsx'
import { SelectField } from '../part/field.tsx'
import { Empty, layout, Page, Skeleton } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { Table } from '../part/table.tsx'
import { Time } from '../part/time.tsx'
import { paths } from '../paths.ts'
import { useServices } from '../service-list.ts'
import { useView } from '../search.ts'
import css from './people.module.css'

const together_ms = 60_000

type Group = readonly [ProjectEvent, ...ProjectEvent[]]

export function Activity() {
  const { project_id = '' } = useParams({ strict: false })
  const [{ kind = '', service = '' }, setView] = useView()
  const { events, error, onRetry, older } = useEventPages({ project_id, service_id: service, kind })
  const services = useServices(project_id)
  const nameOf = (service_id: string) => services.find((one) => one.service_id === service_id)?.name ?? service_id
  return (
    <Page title="Activity">
      <div className={`${layout['row']} ${layout['rowend']}`}>
        <SelectField
          label="Service"
          value={service}
          options={[
            { value: '', label: 'Every service' },
            ...services.map(({ service_id, name }) => ({ value: service_id, label: name })),
          ]}
          onChange={(value) => setView({ service: value })}
        />
        <KindField kind={kind} onChange={(value) => setView({ kind: value })} />
      </div>
      <Problem error={error} onRetry={onRetry} />
      {events === undefined && error === null && <Skeleton lines={8} />}
      {events?.length === 0 && kind + service !== '' && (
        <Empty title="No event fits" text="Another kind, or another service, may have some." />
      )}
      {events?.length === 0 && kind + service === '' && (
        <Empty title="Nothing happened yet" text="Events of every service of the project come here.">
          <ButtonLink to={paths.services(project_id)}>Go to the services</ButtonLink>
        </Empty>
      )}
      {events !== undefined && events.length > 0 && (
        <EventTable project_id={project_id} events={events} nameOf={nameOf} />
      )}
      <OlderEvents older={older} />
    </Page>
  )
}

type TableProps = { project_id: string; events: readonly ProjectEvent[]; nameOf: (service_id: string) => string }

function EventTable({ project_id, events, nameOf }: TableProps) {
  return (
    <Table
      label="Events"
      rows={groupsOf(events)}
      keyOf={([{ id }]) => id}
      columns={[
        {
          label: 'Service',
          nowrap: true,
          cell: ([{ service_id }]) => <Link to={paths.service(project_id, service_id)}>{nameOf(service_id)}</Link>,
        },
        { label: 'What happened', long: true, cell: (group) => <Messages events={group} /> },
        { label: 'When', nowrap: true, cell: ([{ time }]) => <Time value={time} /> },
      ]}
    />
  )
}

/** Of one service, none of which came more than a minute before the newest of them. The newest group first. */
function groupsOf(events: readonly ProjectEvent[]): Group[] {
  const groups: [ProjectEvent, ...ProjectEvent[]][] = []
  for (const event of events) {
    const isNear = ([newest]: Group) =>
      newest.service_id === event.service_id && Date.parse(newest.time) - Date.parse(event.time) < together_ms
    const group = groups.findLast(isNear)
    if (group === undefined) groups.push([event])
    else group.push(event)
  }
  return groups
}

function Messages({ events }: { events: Group }) {
  return (
    <ul className={css['messages']}>
      {events.map(({ id, kind, message }) => (
        <li key={id}>
          <span>{kind}</span>
          {message}
        </li>
      ))}
    </ul>
  )
}
