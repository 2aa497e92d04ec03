// One VPC: its block, the services in it, and its peerings.
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { nameProblem } from '#contract/problem.ts'
import type { Service } from '#contract/service.ts'
import type { Vpc } from '#contract/vpc.ts'
import { useMay } from '../may.ts'
import { Button } from '../part/button.tsx'
import { ConfirmAct } from '../confirm-act.tsx'
import { CopyText } from '../part/copy.tsx'
import { FormDialog } from '../part/dialog.tsx'
import { TextField } from '../part/field.tsx'
import { Card, Facts, layout, Page, Skeleton } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { Table } from '../part/table.tsx'
import { paths } from '../paths.ts'
import { useServices } from '../service-list.ts'
import { q, useAct } from '../query.ts'
import { Peerings } from './peerings.tsx'

export function VpcPage() {
  const { project_id = '', vpc_id = '' } = useParams({ strict: false })
  const { data: vpc, error, refetch } = useQuery(q('getVpc', { project_id, vpc_id }))
  const services = useServices(project_id)
  const [opened, setOpened] = useState<'rename' | 'remove'>()
  const may = useMay(project_id)
  if (vpc === undefined)
    return (
      <Page title="VPC">
        {error === null ? <Skeleton /> : <Problem error={error} onRetry={() => void refetch()} />}
      </Page>
    )
  const inside = services.filter(({ vpc_endpoint }) => vpc_endpoint?.vpc_id === vpc_id)
  const actions = (
    <>
      <Button reason={may('renameVpc')} onPress={() => setOpened('rename')}>
        Rename
      </Button>
      <Button kind="danger" reason={may('deleteVpc')} onPress={() => setOpened('remove')}>
        Delete
      </Button>
    </>
  )
  return (
    <Page title={vpc.name} actions={actions}>
      <div className={layout['pair']}>
        <Card title="Network">
          <Facts
            facts={[
              ['Block', <CopyText key="cidr" text={vpc.cidr} what="block" />],
              ['Id', <CopyText key="id" text={vpc.id} what="id" />],
              ['Region', vpc.region_code],
              ['On the host', <code key="exec">{`howdah admin vpc exec ${vpc.id} -- psql …`}</code>],
            ]}
          />
        </Card>
        <ServicesInside project_id={project_id} services={inside} />
      </div>
      <Peerings project_id={project_id} vpc={vpc} />
      {opened === 'rename' && <RenameVpc project_id={project_id} vpc={vpc} onClose={() => setOpened(undefined)} />}
      {opened === 'remove' && <RemoveVpc project_id={project_id} vpc={vpc} onClose={() => setOpened(undefined)} />}
    </Page>
  )
}

function ServicesInside({ project_id, services }: { project_id: string; services: readonly Service[] }) {
  return (
    <Card title="Services in it">
      {services.length === 0 ? (
        <p className={layout['muted']}>None. A service is moved in on its page Network.</p>
      ) : (
        <Table
          label="Services in it"
          rows={services}
          keyOf={({ service_id }) => service_id}
          columns={[
            {
              label: 'Name',
              cell: ({ service_id, name }) => <Link to={paths.service(project_id, service_id, 'network')}>{name}</Link>,
            },
            {
              label: 'Address',
              cell: ({ vpc_endpoint }) => <code>{`${vpc_endpoint?.host}:${vpc_endpoint?.port}`}</code>,
            },
          ]}
        />
      )}
    </Card>
  )
}

type VpcProps = { project_id: string; vpc: Vpc; onClose: () => void }

function RenameVpc({ project_id, vpc, onClose }: VpcProps) {
  const [name, setName] = useState(vpc.name)
  const { mutate, isPending, error } = useAct('renameVpc')
  return (
    <FormDialog
      title={`Rename ${vpc.name}`}
      onClose={onClose}
      submit="Rename"
      pending={isPending}
      error={error}
      reason={nameProblem(name)}
      onSubmit={() => mutate({ project_id, vpc_id: vpc.id, body: { name } }, { onSuccess: onClose })}
    >
      <TextField label="Name" value={name} onChange={setName} autoComplete="off" />
    </FormDialog>
  )
}

function RemoveVpc({ project_id, vpc, onClose }: VpcProps) {
  const navigate = useNavigate()
  return (
    <ConfirmAct
      act="deleteVpc"
      input={{ project_id, vpc_id: vpc.id }}
      confirmation={{
        title: `Delete ${vpc.name}?`,
        button: 'Delete',
        lines: [
          'The network ends.',
          'While services are in it or it has peerings it stays, and the answer names them.',
        ],
      }}
      onDone={() => void navigate({ to: paths.networks(project_id) })}
      onClose={onClose}
    />
  )
}
