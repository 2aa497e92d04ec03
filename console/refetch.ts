// What a change makes stale, as one table: every endpoint that changes something is in it, or this does not compile.
import type { Api, EndpointName } from '#contract/api.ts'

type IsRead<Name extends EndpointName> = Api[Name] extends { method: 'GET' } | { effect: 'read' } ? Name : never
export type ReadName = { [Name in EndpointName]: IsRead<Name> }[EndpointName]
export type ActName = Exclude<EndpointName, ReadName>

const service = ['getService', 'listServices', 'listServiceEvents', 'listProjectEvents'] as const
const sets = ['listReplicaSets', ...service] as const
const snapshots = ['listSnapshots', 'getRestorable', 'listServiceEvents'] as const
const projects = ['listProjects'] as const
const networks = ['listVpcs', 'getVpc', 'listPeerings', 'listProjectPeerings', 'getPeering'] as const

/** What an event of a service may have changed. */
export const ofServices: readonly ReadName[] = [...sets, ...snapshots, 'getLineage', 'listDeletedServices', ...networks]

export const staleAfter: Readonly<Record<ActName, readonly ReadName[]>> = {
  logout: [],
  endLogin: ['listLogins'],
  createProject: projects,
  renameProject: projects,
  deleteProject: projects,
  addMember: ['listMembers'],
  createLoginLink: [],
  setMemberRole: ['listMembers', 'listProjects'],
  removeMember: ['listMembers', 'listTokens'],
  createToken: ['listTokens'],
  revokeToken: ['listTokens'],
  createService: ['listServices', 'getLineage'],
  deleteService: [...service, 'getLineage', 'listDeletedServices'],
  renameService: [...service, 'getLineage'],
  resizeService: service,
  forkService: ['listServices', 'getLineage', ...snapshots],
  startService: service,
  stopService: service,
  updatePassword: ['listServiceEvents'],
  setEnvironment: service,
  setExpiry: service,
  setProtection: service,
  restoreDeletedService: ['listDeletedServices', ...service, 'getLineage'],
  purgeDeletedService: ['listDeletedServices'],
  setHA: service,
  switchover: service,
  enablePooler: service,
  disablePooler: service,
  createReplicaSet: sets,
  deleteReplicaSet: sets,
  resizeReplicaSet: sets,
  enableReplicaSetPooler: sets,
  disableReplicaSetPooler: sets,
  setReplicaSetEnvironment: sets,
  takeSnapshot: snapshots,
  rewindService: [...service, ...snapshots],
  undoRewind: [...service, ...snapshots],
  resetService: [...service, ...snapshots, 'getLineage'],
  deleteSnapshot: snapshots,
  runQuery: ['listServiceEvents'],
  setSnapshotPolicy: [...service, ...snapshots],
  drillService: service,
  createVpc: networks,
  renameVpc: networks,
  deleteVpc: networks,
  attachToVpc: service,
  detachFromVpc: service,
  createPeering: networks,
  deletePeering: networks,
}
