// Makes a VPC. Its block is checked as it is typed: the form, and which other VPC of the project it overlaps.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { addressIn, cidrProblem, overlaps, parseCidr } from '#contract/cidr.ts'
import { nameProblem } from '#contract/problem.ts'
import type { Vpc } from '#contract/vpc.ts'
import { FormDialog } from '../part/dialog.tsx'
import { SelectField, TextField } from '../part/field.tsx'
import { problemAt } from '../part/problem.tsx'
import { q, useAct } from '../query.ts'

const block_size = 256

export function CreateVpcDialog({
  project_id,
  vpcs,
  onClose,
}: {
  project_id: string
  vpcs: readonly Vpc[]
  onClose: () => void
}) {
  const { data: capabilities } = useQuery(q('getCapabilities', {}))
  const regions = capabilities?.regions ?? []
  const [name, setName] = useState('')
  const [cidr, setCidr] = useState(() => freeBlock(vpcs))
  const [chosen, setRegion] = useState<string>()
  const { mutate, isPending, error } = useAct('createVpc')
  const region_code = chosen ?? regions.find(({ is_default }) => is_default)?.code ?? ''
  const problem = blockProblem(cidr, vpcs)
  return (
    <FormDialog
      title="Create a VPC"
      onClose={onClose}
      submit="Create"
      pending={isPending}
      error={error}
      shown_elsewhere={['/cidr', '/name']}
      reason={problem ?? (name === '' ? 'it needs a name' : nameProblem(name))}
      onSubmit={() => mutate({ project_id, body: { name, cidr, region_code } }, { onSuccess: onClose })}
    >
      <TextField label="Name" value={name} onChange={setName} problem={problemAt(error, '/name')} autoComplete="off" />
      <TextField
        label="Block of addresses"
        value={cidr}
        onChange={setCidr}
        mono
        problem={problem ?? problemAt(error, '/cidr')}
        hint="A private IPv4 network from /16 to /28, in a range that the region gives to VPCs."
      />
      {regions.length > 1 && (
        <SelectField
          label="Region"
          value={region_code}
          options={regions.map(({ code }) => ({ value: code, label: code }))}
          onChange={setRegion}
        />
      )}
    </FormDialog>
  )
}

function blockProblem(text: string, vpcs: readonly Vpc[]): string | undefined {
  const problem = cidrProblem(text)
  if (problem !== undefined) return problem
  const other = vpcs.find(({ cidr }) => overlaps(parseCidr(cidr), parseCidr(text)))
  return other === undefined ? undefined : `overlaps ${other.name}, which has ${other.cidr}`
}

/** The first /24 of the default range that no VPC of the project touches. */
function freeBlock(vpcs: readonly Vpc[]): string {
  const range = parseCidr('10.64.0.0/10')
  const taken = vpcs.map(({ cidr }) => parseCidr(cidr))
  for (let at = 0; at < range.size; at += block_size) {
    const first = range.first + at
    if (!taken.some((cidr) => overlaps(cidr, { first, size: block_size }))) return `${addressIn(range, at)}/24`
  }
  return ''
}
