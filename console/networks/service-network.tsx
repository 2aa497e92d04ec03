// Where a service answers: at the host, or inside one VPC.
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Service } from '#contract/service.ts'
import { useMay } from '../may.ts'
import { SelectField } from '../part/field.tsx'
import { Card, Facts, layout } from '../part/layout.tsx'
import { paths } from '../paths.ts'
import { q, useAct } from '../query.ts'
import { useService } from '../service/frame.tsx'
import { InterruptingButton } from '../service/interrupting-button.tsx'

export function ServiceNetwork() {
  const service = useService()
  const { endpoint, vpc_endpoint } = service
  return (
    <div className={layout['pair']}>
      <Card title="Where it answers">
        <Facts
          facts={[
            [
              'Address',
              <code key="at">
                {vpc_endpoint === undefined
                  ? `${endpoint.host}:${endpoint.port}`
                  : `${vpc_endpoint.host}:${vpc_endpoint.port}`}
              </code>,
            ],
            [
              'Reached from',
              vpc_endpoint === undefined
                ? 'wherever that address can be reached'
                : `VPC ${vpc_endpoint.vpc_id} and its active peers`,
            ],
          ]}
        />
      </Card>
      {vpc_endpoint === undefined ? (
        <Attach service={service} />
      ) : (
        <Detach service={service} vpc_id={vpc_endpoint.vpc_id} />
      )}
    </div>
  )
}

function Attach({ service }: { service: Service }) {
  const { project_id, service_id } = service
  const { data: all = [] } = useQuery(q('listVpcs', { project_id }))
  const vpcs = all.filter(({ region_code }) => region_code === service.region_code)
  const [chosen, setChosen] = useState<string>()
  const attach = useAct('attachToVpc')
  const may = useMay(project_id, service.status)
  const vpc_id = (vpcs.find(({ id }) => id === chosen) ?? vpcs[0])?.id ?? ''
  if (vpcs.length === 0) {
    return (
      <Card title="Move it into a VPC">
        <p className={layout['muted']}>
          This project has no VPC in {service.region_code}. <Link to={paths.networks(project_id)}>Create one</Link>{' '}
          first.
        </p>
      </Card>
    )
  }
  return (
    <Card title="Move it into a VPC">
      <SelectField
        label="VPC"
        value={vpc_id}
        options={vpcs.map(({ id, name, cidr }) => ({ value: id, label: `${name} (${cidr})` }))}
        onChange={setChosen}
      />
      <p className={layout['muted']}>
        Open sessions end. From then on it answers at an address of the VPC, on port 5432, and nowhere else.
      </p>
      <div className={layout['row']}>
        <InterruptingButton
          name="attachToVpc"
          service={service}
          kind="primary"
          reason={may('attachToVpc')}
          mutation={attach}
          run={(after) => attach.mutate({ project_id, service_id, body: { vpc_id } }, after)}
        >
          Attach
        </InterruptingButton>
      </div>
    </Card>
  )
}

function Detach({ service, vpc_id }: { service: Service; vpc_id: string }) {
  const { project_id, service_id } = service
  const detach = useAct('detachFromVpc')
  const may = useMay(project_id, service.status)
  return (
    <Card title="Move it out of its VPC">
      <p className={layout['muted']}>
        It is in <Link to={paths.vpc(project_id, vpc_id)}>VPC {vpc_id}</Link>. Outside it answers at its former address
        again; open sessions end.
      </p>
      <div className={layout['row']}>
        <InterruptingButton
          name="detachFromVpc"
          service={service}
          reason={may('detachFromVpc')}
          mutation={detach}
          run={(after) => detach.mutate({ project_id, service_id, body: {} }, after)}
        >
          Detach
        </InterruptingButton>
      </div>
    </Card>
  )
}
