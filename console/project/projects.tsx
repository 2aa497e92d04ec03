// The projects of the user: open one, create another one.
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { nameProblem } from '#contract/problem.ts'
import { AsCommand } from '../part/as-command.tsx'
import { Button } from '../part/button.tsx'
import { CopyText } from '../part/copy.tsx'
import { FormDialog } from '../part/dialog.tsx'
import { TextField } from '../part/field.tsx'
import { Empty, Page } from '../part/layout.tsx'
import { problemAt } from '../part/problem.tsx'
import { Table } from '../part/table.tsx'
import { Time } from '../part/time.tsx'
import { paths } from '../paths.ts'
import { q, useAct } from '../query.ts'

export function Projects() {
  const { data: projects = [] } = useQuery(q('listProjects', {}))
  const [creating, setCreating] = useState(false)
  const create = (
    <Button kind="primary" icon="plus" onPress={() => setCreating(true)}>
      Create project
    </Button>
  )
  return (
    <Page title="Projects" actions={projects.length > 0 && create}>
      {projects.length === 0 ? (
        <Empty
          title="No project yet"
          text="A project holds services, networks, members and tokens. Create one, or ask a member of another to add you."
        >
          {create}
          <AsCommand command="howdah project create first" path="/projects" body={{ name: 'first' }} />
        </Empty>
      ) : (
        <Table
          label="Projects"
          rows={projects}
          keyOf={({ id }) => id}
          columns={[
            { label: 'Name', cell: ({ id, name }) => <Link to={paths.services(id)}>{name}</Link> },
            { label: 'Your role', cell: ({ role }) => role },
            { label: 'Services', cell: ({ services }) => services },
            { label: 'Id', cell: ({ id }) => <CopyText text={id} what="id" /> },
            { label: 'Created', cell: ({ created }) => <Time value={created} /> },
          ]}
        />
      )}
      {creating && <CreateProject onClose={() => setCreating(false)} />}
    </Page>
  )
}

function CreateProject({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('')
  const { mutate, isPending, error } = useAct('createProject')
  const navigate = useNavigate()
  const onSuccess = ({ id }: { id: string }) => {
    onClose()
    void navigate({ to: paths.services(id) })
  }
  return (
    <FormDialog
      title="Create a project"
      onClose={onClose}
      submit="Create"
      pending={isPending}
      error={error}
      shown_elsewhere={['/name']}
      reason={name === '' ? 'it needs a name' : nameProblem(name)}
      onSubmit={() => mutate({ body: { name } }, { onSuccess })}
    >
      <TextField label="Name" value={name} onChange={setName} problem={problemAt(error, '/name')} autoComplete="off" />
    </FormDialog>
  )
}
