// The private networks of a project: drawn with their services and peerings, and as a list.
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useMay } from '../may.ts'
import { AsCommand } from '../part/as-command.tsx'
import { Button } from '../part/button.tsx'
import { Empty, Page, Skeleton } from '../part/layout.tsx'
import { Note, Problem } from '../part/problem.tsx'
import { Table } from '../part/table.tsx'
import { paths } from '../paths.ts'
import { useServices } from '../service-list.ts'
import { q } from '../query.ts'
import { CreateVpcDialog } from './create-vpc.tsx'
import { Drawing } from './drawing.tsx'

export function Networks() {
  const { project_id = '' } = useParams({ strict: false })
  const { data: vpcs, error, refetch } = useQuery(q('listVpcs', { project_id }))
  const services = useServices(project_id)
  const { data: capabilities } = useQuery(q('getCapabilities', {}))
  const [creating, setCreating] = useState(false)
  const may = useMay(project_id)
  const offer = capabilities?.regions.find(({ is_default }) => is_default)?.features.vpcs
  const reason = may('createVpc') ?? (offer?.offered === false ? offer.reason : undefined)
  const create = (
    <Button kind="primary" icon="plus" reason={reason} onPress={() => setCreating(true)}>
      Create VPC
    </Button>
  )
  const inside = (vpc_id: string) => services.filter(({ vpc_endpoint }) => vpc_endpoint?.vpc_id === vpc_id)
  return (
    <Page title="Networks" actions={vpcs !== undefined && vpcs.length > 0 && create}>
      <Problem error={error} onRetry={() => void refetch()} />
      {offer?.offered === false && <Note warn>{offer.reason}</Note>}
      {vpcs === undefined && error === null && <Skeleton />}
      {vpcs?.length === 0 && (
        <Empty
          title="No VPC yet"
          text="A VPC is a network of its own: only what is in it, and its active peers, reach the services in it."
        >
          {create}
          <AsCommand
            command={`howdah vpc create home --project ${project_id} --cidr 10.64.0.0/24`}
            path={`/projects/${project_id}/vpcs`}
            body={{ name: 'home', cidr: '10.64.0.0/24' }}
          />
        </Empty>
      )}
      {vpcs !== undefined && vpcs.length > 0 && (
        <>
          <Drawing project_id={project_id} vpcs={vpcs} services={services} />
          <Table
            label="VPCs"
            rows={vpcs}
            keyOf={({ id }) => id}
            columns={[
              { label: 'Name', cell: ({ id, name }) => <Link to={paths.vpc(project_id, id)}>{name}</Link> },
              { label: 'Block', cell: ({ cidr }) => <code>{cidr}</code> },
              { label: 'Id', cell: ({ id }) => <code>{id}</code> },
              { label: 'Region', cell: ({ region_code }) => region_code },
              { label: 'Services', cell: ({ id }) => inside(id).length },
            ]}
          />
        </>
      )}
      {creating && <CreateVpcDialog project_id={project_id} vpcs={vpcs ?? []} onClose={() => setCreating(false)} />}
    </Page>
  )
}
