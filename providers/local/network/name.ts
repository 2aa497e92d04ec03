// The names of everything of a VPC on this host. Pure: the same installation and VPC give the same names for ever, and
// two installations on one host never the same.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'

/** A bridge inside the namespace: addresses of services lie on it, and tenants' own programs can be joined to it. */
export const bridge = 'vpc0'

export type Named = { installation_id: string }

export function namespaceOf({ installation_id }: Named, vpc_id: string): string {
  assert.match(installation_id, /^[a-z0-9]{1,32}$/, 'an installation id consists of small letters and digits')
  assert.match(vpc_id, /^\d{1,13}$/, 'a VPC id consists of digits, few enough for the name of an interface')
  return `howdah-${installation_id}-${vpc_id}`
}

/** The VPC of a namespace of this installation; undefined for every other name. */
export function vpcOf({ installation_id }: Named, namespace: string): string | undefined {
  const [, installation, vpc_id] = /^howdah-([a-z0-9]+)-(\d+)$/.exec(namespace) ?? []
  return installation === installation_id ? vpc_id : undefined
}

/** The interface, in one VPC's namespace, of its link to a peer. */
export const linkTo = (vpc_id: string) => `v${vpc_id}`

export const peerOf = (link: string): string | undefined => /^v(\d+)$/.exec(link)?.[1]

/** The metric of a VPC's route on the host. It alone tells the route from those of other VPCs with the same range. */
export function metricOf({ installation_id }: Named, vpc_id: string): number {
  const hash = createHash('sha256').update(`${installation_id}/${vpc_id}`).digest()
  // In the upper half: a route of the host itself to the same range has a lower metric, and stays in force.
  return 2 ** 31 + (hash.readUInt32BE() >>> 1)
}
