// The services of a project: what runs, whether it is well, and every act on each. Filters are in the address.
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { environments } from '#contract/schema.ts'
import type { Service } from '#contract/service.ts'
import { useMay } from '../may.ts'
import { AsCommand } from '../part/as-command.tsx'
import { Button, ButtonLink } from '../part/button.tsx'
import { Segments } from '../part/field.tsx'
import { Empty, Page } from '../part/layout.tsx'
import { paths } from '../paths.ts'
import { useServices } from '../service-list.ts'
import { type Search, useView } from '../search.ts'
import { BulkActs } from './bulk.tsx'
import { createCommand } from './command.ts'
import { DeletedServices } from './deleted.tsx'
import { ServiceTable } from './service-table.tsx'
import css from './services.module.css'

export function Services() {
  const { project_id = '' } = useParams({ strict: false })
  const services = useServices(project_id)
  const [view, setView] = useView()
  const may = useMay(project_id)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const shown = services.filter((service) => matches(service, view))
  const reason = may('createService')
  const create = <CreateButton project_id={project_id} reason={reason} />
  return (
    <Page title="Services" actions={services.length > 0 && create}>
      {services.length === 0 ? (
        <NoService project_id={project_id}>{create}</NoService>
      ) : (
        <>
          <Filters view={view} setView={setView} services={services} />
          <BulkActs
            services={shown.filter(({ service_id }) => chosen.has(service_id))}
            onDone={() => setChosen(new Set())}
          />
          <ServiceTable
            services={shown}
            tree={view['view'] === 'tree'}
            sort={{ by: view['sort'] ?? '', onChange: (sort) => setView({ sort }) }}
            chosen={chosen}
            onChoose={setChosen}
          />
          {shown.length === 0 && (
            <Empty title="No service fits" text="The filters leave nothing over.">
              <Button onPress={() => setView({ q: '', status: '', env: '' })}>Clear the filters</Button>
            </Empty>
          )}
        </>
      )}
      <DeletedServices project_id={project_id} />
    </Page>
  )
}

function CreateButton({ project_id, reason }: { project_id: string; reason: string | undefined }) {
  if (reason !== undefined) {
    return (
      <Button kind="primary" icon="plus" reason={reason}>
        Create service
      </Button>
    )
  }
  return (
    <ButtonLink kind="primary" icon="plus" to={paths.newService(project_id)}>
      Create service
    </ButtonLink>
  )
}

type FilterProps = { view: Search; setView: (changes: Search) => void; services: readonly Service[] }

const views = [
  { value: 'table', label: 'Table' },
  { value: 'tree', label: 'Tree' },
] as const

function Filters({ view, setView, services }: FilterProps) {
  const statuses = [...new Set(services.map(({ status }) => status))].toSorted()
  return (
    <div className={css['filters']} role="search">
      <input
        type="search"
        className={css['search']}
        placeholder="Search name, id, host:port"
        aria-label="Search services"
        value={view['q'] ?? ''}
        onChange={(event) => setView({ q: event.target.value })}
      />
      <Choice
        label="Status"
        all="Every status"
        value={view['status']}
        values={statuses}
        onChange={(status) => setView({ status })}
      />
      <Choice
        label="Environment"
        all="Every environment"
        value={view['env']}
        values={environments}
        onChange={(env) => setView({ env })}
      />
      <Segments
        label="View"
        hide_label
        name="view"
        value={view['view'] === 'tree' ? 'tree' : 'table'}
        options={views}
        onChange={(value) => setView({ view: value === 'tree' ? 'tree' : '' })}
      />
    </div>
  )
}

type ChoiceProps = {
  label: string
  all: string
  value: string | undefined
  values: readonly string[]
  onChange: (value: string) => void
}

function Choice({ label, all, value = '', values, onChange }: ChoiceProps) {
  return (
    <select
      className={css['select']}
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{all}</option>
      {values.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  )
}

function NoService({ project_id, children }: { project_id: string; children: React.ReactNode }) {
  return (
    <Empty title="No service yet" text="A service is a PostgreSQL of its own, ready in a second or two.">
      {children}
      <AsCommand
        command={createCommand(project_id, { name: 'first' })}
        path={`/projects/${project_id}/services`}
        body={{ name: 'first' }}
      />
    </Empty>
  )
}

function matches(service: Service, { q: text = '', status = '', env = '' }: Search): boolean {
  const { host, port } = service.endpoint
  const words = `${service.name} ${service.service_id} ${host}:${port}`.toLowerCase()
  return (
    words.includes(text.toLowerCase()) &&
    (status === '' || service.status === status) &&
    (env === '' || service.metadata.environment === env)
  )
}
