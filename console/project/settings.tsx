// The settings of a project: its name, how much there may be, and its end.
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { nameProblem } from '#contract/problem.ts'
import { useMay } from '../may.ts'
import { Button } from '../part/button.tsx'
import { ConfirmAct } from '../confirm-act.tsx'
import { CopyText } from '../part/copy.tsx'
import { TextField } from '../part/field.tsx'
import { Form } from '../part/form.tsx'
import { Card, Facts, layout, Page } from '../part/layout.tsx'
import { Problem, problemAt } from '../part/problem.tsx'
import { toast } from '../part/toast.tsx'
import { paths } from '../paths.ts'
import { q, useAct } from '../query.ts'

export function ProjectSettings() {
  const { project_id = '' } = useParams({ strict: false })
  const { data: projects = [] } = useQuery(q('listProjects', {}))
  const { data: capabilities } = useQuery(q('getCapabilities', {}))
  const { data: vpcs } = useQuery(q('listVpcs', { project_id }))
  const project = projects.find(({ id }) => id === project_id)
  return (
    <Page title="Project settings" narrow>
      <Card title="Project">
        <Facts
          facts={[
            ['Id', <CopyText key="id" text={project_id} what="id" />],
            ['Your role', project?.role],
            ['Services', capabilities && `${project?.services ?? 0} of ${capabilities.limits.services_per_project}`],
            ['VPCs', capabilities && vpcs && `${vpcs.length} of ${capabilities.limits.vpcs_per_project}`],
          ]}
        />
      </Card>
      {project !== undefined && <Rename key={project.name} project_id={project_id} name={project.name} />}
      <Remove project_id={project_id} name={project?.name ?? ''} />
    </Page>
  )
}

function Rename({ project_id, name: current }: { project_id: string; name: string }) {
  const [name, setName] = useState(current)
  const { mutate, isPending, error } = useAct('renameProject')
  const may = useMay(project_id)
  const reason = may('renameProject') ?? (name === current ? 'it has this name already' : nameProblem(name))
  const rename = () => {
    if (reason === undefined)
      mutate({ project_id, body: { name } }, { onSuccess: () => toast('The project has its new name') })
  }
  return (
    <Card title="Name">
      <Form className={layout['stack']} onSubmit={rename}>
        <TextField
          label="Name of the project"
          value={name}
          onChange={setName}
          problem={problemAt(error, '/name')}
          autoComplete="off"
        />
        <Problem error={error} shown_elsewhere={['/name']} />
        <div className={layout['row']}>
          <Button type="submit" kind="primary" reason={reason} pending={isPending}>
            Rename
          </Button>
        </div>
      </Form>
    </Card>
  )
}

function Remove({ project_id, name }: { project_id: string; name: string }) {
  const [asking, setAsking] = useState(false)
  const may = useMay(project_id)
  const navigate = useNavigate()
  return (
    <Card
      title="Delete this project"
      actions={
        <Button kind="danger" reason={may('deleteProject')} onPress={() => setAsking(true)}>
          Delete
        </Button>
      }
    >
      <p className={layout['muted']}>
        Its members lose it and its tokens stop working. While it has services or VPCs it stays.
      </p>
      {asking && (
        <ConfirmAct
          act="deleteProject"
          input={{ project_id }}
          confirmation={{
            title: `Delete ${name}?`,
            button: 'Delete',
            typed: name,
            lines: ['Its members lose it.', 'Its tokens stop working.'],
          }}
          onDone={() => void navigate({ to: paths.projects() })}
          onClose={() => setAsking(false)}
        />
      )}
    </Card>
  )
}
