// Where a service answers: at the host, or inside one VPC.
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Service } from '#contract/service.ts'
import { useMay } from '../may.ts'
import { Button } from '../part/button.tsx'
import { Confirm } from '../part/confirm.tsx'
import { SelectField } from '../part/field.tsx'
import { Card, Facts, layout } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { paths } from '../paths.ts'
import { q, useAct } from '../query.ts'
import { confirmationOf } from '../service/confirmation.ts'
import { useService } from '../service/frame.tsx'

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
  const { mutate, isPending, error } = useAct('attachToVpc')
  const may = useMay(project_id, service.status)
  const vpc_id = chosen ?? vpcs[0]?.id ?? ''
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
      <Problem error={error} />
      <div className={layout['row']}>
        <Button
          kind="primary"
          reason={may('attachToVpc')}
          pending={isPending}
          onPress={() => mutate({ project_id, service_id, body: { vpc_id } })}
        >
          Attach
        </Button>
      </div>
    </Card>
  )
}

function Detach({ service, vpc_id }: { service: Service; vpc_id: string }) {
  const { project_id, service_id } = service
  const [asking, setAsking] = useState(false)
  const { mutate, isPending, error } = useAct('detachFromVpc')
  const may = useMay(project_id, service.status)
  const confirmation = confirmationOf('detachFromVpc', service)
  const run = () => mutate({ project_id, service_id, body: {} }, { onSuccess: () => setAsking(false) })
  return (
    <Card title="Move it out of its VPC">
      <p className={layout['muted']}>
        It is in <Link to={paths.vpc(project_id, vpc_id)}>VPC {vpc_id}</Link>. Outside it answers at its former address
        again; open sessions end.
      </p>
      <Problem error={error} />
      <div className={layout['row']}>
        <Button
          reason={may('detachFromVpc')}
          pending={isPending}
          onPress={() => (confirmation === undefined ? run() : setAsking(true))}
        >
          Detach
        </Button>
      </div>
      {asking && confirmation !== undefined && (
        <Confirm
          confirmation={confirmation}
          pending={isPending}
          error={error}
          onConfirm={run}
          onClose={() => setAsking(false)}
        />
      )}
    </Card>
  )
}
