// The ids that paths name: the form of each, an example, and what a caller hears where no such thing exists. A malformed id
// is an unknown one. A path of the table uses these names only.
import {
  unknown_login,
  unknown_member,
  unknown_peering,
  unknown_project,
  unknown_replica_set,
  unknown_service,
  unknown_snapshot,
  unknown_token,
  unknown_vpc,
} from './fault.ts'
import { Type } from './type.ts'

export const id_pattern = '^[a-z0-9]{10}$'
/** Few enough digits to be exact as a number. */
export const number_pattern = '^[1-9][0-9]{0,14}$'
const public_key_pattern = '^[A-Z0-9]{10,32}$'
const login_pattern = '^[0-9a-f]{16}$'

const id = (description: string, example: string) =>
  Type.String({
    pattern: id_pattern,
    description: `${description}: ten characters of a–z and 0–9.`,
    examples: [example],
  })
const numeric = (description: string, example: string) =>
  Type.String({ pattern: number_pattern, description: `${description}: decimal digits.`, examples: [example] })

export const ProjectId = id('The id of a project', 'p8d4t6w1zn')
export const ServiceId = id('The id of a service', 'k3v9x2m7qp')
export const ReplicaSetId = id('The id of a read replica set', 'r5h2j8c0ya')
export const SnapshotId = id('The id of a snapshot', 's7f1b3n9ue')
export const UserId = numeric('The id of a user', '7')
export const VpcId = numeric('The id of a VPC', '12')
export const PeeringId = numeric('The id of a peering', '34')
export const PublicKey = Type.String({
  pattern: public_key_pattern,
  description: 'The public key of a personal access token: capital letters and digits.',
  examples: ['HQ2V7KXW4MB3N9TZ'],
})
export const LoginId = Type.String({
  pattern: login_pattern,
  description: 'The id of a login: sixteen hexadecimal digits.',
  examples: ['5f0c2a91d7e34b68'],
})

export const path_ids = {
  project_id: { schema: ProjectId, pattern: id_pattern, unknown: unknown_project },
  service_id: { schema: ServiceId, pattern: id_pattern, unknown: unknown_service },
  replica_set_id: { schema: ReplicaSetId, pattern: id_pattern, unknown: unknown_replica_set },
  snapshot_id: { schema: SnapshotId, pattern: id_pattern, unknown: unknown_snapshot },
  user_id: { schema: UserId, pattern: number_pattern, unknown: unknown_member },
  vpc_id: { schema: VpcId, pattern: number_pattern, unknown: unknown_vpc },
  peering_id: { schema: PeeringId, pattern: number_pattern, unknown: unknown_peering },
  public_key: { schema: PublicKey, pattern: public_key_pattern, unknown: unknown_token },
  login_id: { schema: LoginId, pattern: login_pattern, unknown: unknown_login },
} as const
export type PathIdName = keyof typeof path_ids

export function isPathIdName(name: string): name is PathIdName {
  return Object.hasOwn(path_ids, name)
}
