// The peerings of a VPC: which other network it is linked with, whether traffic flows, and what a pending one waits for.
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Peering } from '#contract/peering.ts'
import type { Vpc } from '#contract/vpc.ts'
import { useMay } from '../may.ts'
import { Button, RemoveButton } from '../part/button.tsx'
import { ConfirmAct } from '../confirm-act.tsx'
import { FormDialog } from '../part/dialog.tsx'
import { SelectField, TextField } from '../part/field.tsx'
import { Card, layout, Skeleton } from '../part/layout.tsx'
import { Problem, problemAt } from '../part/problem.tsx'
import { Status } from '../part/status.tsx'
import { nothing, Table } from '../part/table.tsx'
import { paths } from '../paths.ts'
import { q, useAct } from '../query.ts'

type PeeringsProps = { project_id: string; vpc: Vpc }

export function Peerings({ project_id, vpc }: PeeringsProps) {
  const { data, error } = useQuery(q('listPeerings', { project_id, vpc_id: vpc.id }))
  const [creating, setCreating] = useState(false)
  const [removing, setRemoving] = useState<Peering>()
  const may = useMay(project_id)
  return (
    <Card
      title="Peerings"
      actions={
        <Button icon="plus" reason={may('createPeering')} onPress={() => setCreating(true)}>
          Peer with another VPC
        </Button>
      }
    >
      <Problem error={error} />
      {data === undefined && error === null && <Skeleton lines={3} />}
      {data?.length === 0 && (
        <p className={layout['muted']}>None. Traffic flows between two VPCs while both sides have a peering.</p>
      )}
      {data !== undefined && data.length > 0 && (
        <Table
          label="Peerings"
          rows={data}
          keyOf={({ id }) => id}
          columns={[
            {
              label: 'With',
              cell: (peering) => <Peer project_id={project_id} peering={peering} />,
            },
            { label: 'Status', cell: ({ status }) => <Status status={status} /> },
            { label: 'About', cell: ({ error_message }) => error_message ?? nothing },
            {
              label: 'Acts',
              end: true,
              cell: (peering) => (
                <RemoveButton
                  label="Delete the peering"
                  reason={may('deletePeering')}
                  onPress={() => setRemoving(peering)}
                />
              ),
            },
          ]}
        />
      )}
      {creating && <CreatePeering project_id={project_id} vpc={vpc} onClose={() => setCreating(false)} />}
      {removing !== undefined && (
        <ConfirmAct
          act="deletePeering"
          input={{ project_id, vpc_id: vpc.id, peering_id: removing.id }}
          confirmation={deletionOf(removing)}
          onClose={() => setRemoving(undefined)}
        />
      )}
    </Card>
  )
}

const deletionOf = ({ peer_vpc_id }: Peering) => ({
  title: `Delete the peering with VPC ${peer_vpc_id}?`,
  button: 'Delete',
  lines: ['Nothing passes any more in either direction, open connections included.'],
})

function Peer({ project_id, peering }: { project_id: string; peering: Peering }) {
  const { data: own = [] } = useQuery(q('listVpcs', { project_id }))
  const { peer_vpc_id, peer_account_id } = peering
  const known = own.find(({ id }) => id === peer_vpc_id)
  return known === undefined ? (
    <code>{`VPC ${peer_vpc_id} of ${peer_account_id}`}</code>
  ) : (
    <Link to={paths.vpc(project_id, known.id)}>{`${known.name} (${known.cidr})`}</Link>
  )
}

function CreatePeering({ project_id, vpc, onClose }: PeeringsProps & { onClose: () => void }) {
  const { data: projects = [] } = useQuery(q('listProjects', {}))
  const [account, setAccount] = useState(project_id)
  const [typed, setTyped] = useState('')
  const is_known = projects.some(({ id }) => id === account)
  const { data: vpcs = [] } = useQuery({ ...q('listVpcs', { project_id: account }), enabled: is_known })
  const { mutate, isPending, error } = useAct('createPeering')
  const others = vpcs.filter(({ id }) => id !== vpc.id)
  // A VPC that was chosen in one project is none of another project's.
  const chosen = others.find(({ id }) => id === typed) ?? others[0]
  const peer_vpc_id = is_known && chosen !== undefined ? chosen.id : typed
  const body = { peer_account_id: account, peer_region_code: vpc.region_code, peer_vpc_id }
  return (
    <FormDialog
      title={`Peer ${vpc.name} with another VPC`}
      onClose={onClose}
      submit="Peer"
      pending={isPending}
      error={error}
      reason={peer_vpc_id === '' ? 'name the other VPC' : undefined}
      onSubmit={() => mutate({ project_id, vpc_id: vpc.id, body }, { onSuccess: onClose })}
    >
      <TextField
        label="Project of the other VPC"
        mono
        value={account}
        onChange={setAccount}
        hint={projects.find(({ id }) => id === account)?.name ?? 'the id of another project'}
        problem={problemAt(error, '/peer_account_id')}
      />
      {is_known && others.length > 0 ? (
        <SelectField
          label="VPC"
          value={peer_vpc_id}
          options={others.map(({ id, name, cidr }) => ({ value: id, label: `${name} (${cidr})` }))}
          onChange={setTyped}
          problem={problemAt(error, '/peer_vpc_id')}
        />
      ) : (
        <TextField
          label="Id of the VPC"
          mono
          value={typed}
          onChange={setTyped}
          problem={problemAt(error, '/peer_vpc_id')}
        />
      )}
      <p className={layout['muted']}>
        Where you administer both projects, both sides are made at once. Else the other side must agree.
      </p>
    </FormDialog>
  )
}
