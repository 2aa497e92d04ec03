// The table keeps the promises of the spec: names, paths and success codes. A new endpoint is added here on purpose.
import { describe, expect, test } from 'vitest'
import { api, type EndpointName } from '#contract/api.ts'
import { commandOf, effectOf } from '#contract/command.ts'
import { type Endpoint, isRole } from '#contract/endpoint.ts'
import { isPathIdName } from '#contract/id.ts'
import { fault_codes, fault_status } from '#contract/fault.ts'
import { objectOf, pathParametersOf } from '#contract/openapi.ts'

const one = '/projects/{project_id}/services/{service_id}'
const vpcs = '/projects/{project_id}/vpcs'

const promised: Record<EndpointName, [method: string, path: string, success: number, access: string]> = {
  logout: ['POST', '/auth/logout', 204, 'caller'],
  getCapabilities: ['GET', '/capabilities', 200, 'caller'],
  getAuthInfo: ['GET', '/auth/info', 200, 'caller'],
  listLogins: ['GET', '/logins', 200, 'user'],
  endLogin: ['DELETE', '/logins/{login_id}', 204, 'user'],
  getCaCertificate: ['GET', '/ca.pem', 200, 'public'],
  listProjects: ['GET', '/projects', 200, 'caller'],
  createProject: ['POST', '/projects', 201, 'user'],
  renameProject: ['POST', '/projects/{project_id}/rename', 200, 'admin'],
  deleteProject: ['DELETE', '/projects/{project_id}', 204, 'owner'],
  listMembers: ['GET', '/projects/{project_id}/members', 200, 'viewer'],
  addMember: ['POST', '/projects/{project_id}/members', 201, 'admin'],
  setMemberRole: ['POST', '/projects/{project_id}/members/{user_id}/setRole', 200, 'admin'],
  createLoginLink: ['POST', '/projects/{project_id}/members/{user_id}/createLoginLink', 201, 'admin'],
  removeMember: ['DELETE', '/projects/{project_id}/members/{user_id}', 204, 'admin'],
  listTokens: ['GET', '/projects/{project_id}/tokens', 200, 'admin'],
  createToken: ['POST', '/projects/{project_id}/tokens', 201, 'admin'],
  revokeToken: ['DELETE', '/projects/{project_id}/tokens/{public_key}', 204, 'admin'],
  listAudit: ['GET', '/projects/{project_id}/audit', 200, 'admin'],
  listServices: ['GET', '/projects/{project_id}/services', 200, 'viewer'],
  createService: ['POST', '/projects/{project_id}/services', 202, 'developer'],
  getService: ['GET', one, 200, 'viewer'],
  deleteService: ['DELETE', one, 202, 'developer'],
  renameService: ['POST', `${one}/rename`, 200, 'developer'],
  resizeService: ['POST', `${one}/resize`, 202, 'developer'],
  startService: ['POST', `${one}/start`, 202, 'developer'],
  stopService: ['POST', `${one}/stop`, 202, 'developer'],
  updatePassword: ['POST', `${one}/updatePassword`, 204, 'developer'],
  setEnvironment: ['POST', `${one}/setEnvironment`, 200, 'developer'],
  setExpiry: ['POST', `${one}/setExpiry`, 200, 'developer'],
  setProtection: ['POST', `${one}/setProtection`, 200, 'developer'],
  listDeletedServices: ['GET', '/projects/{project_id}/deletedServices', 200, 'viewer'],
  restoreDeletedService: ['POST', '/projects/{project_id}/deletedServices/{service_id}/restore', 202, 'developer'],
  purgeDeletedService: ['POST', '/projects/{project_id}/deletedServices/{service_id}/purge', 204, 'developer'],
  setHA: ['POST', `${one}/setHA`, 202, 'developer'],
  switchover: ['POST', `${one}/switchover`, 202, 'developer'],
  enablePooler: ['POST', `${one}/enablePooler`, 200, 'developer'],
  disablePooler: ['POST', `${one}/disablePooler`, 200, 'developer'],
  listReplicaSets: ['GET', `${one}/replicaSets`, 200, 'viewer'],
  createReplicaSet: ['POST', `${one}/replicaSets`, 202, 'developer'],
  deleteReplicaSet: ['DELETE', `${one}/replicaSets/{replica_set_id}`, 202, 'developer'],
  resizeReplicaSet: ['POST', `${one}/replicaSets/{replica_set_id}/resize`, 202, 'developer'],
  enableReplicaSetPooler: ['POST', `${one}/replicaSets/{replica_set_id}/enablePooler`, 200, 'developer'],
  disableReplicaSetPooler: ['POST', `${one}/replicaSets/{replica_set_id}/disablePooler`, 200, 'developer'],
  setReplicaSetEnvironment: ['POST', `${one}/replicaSets/{replica_set_id}/setEnvironment`, 200, 'developer'],
  forkService: ['POST', `${one}/forkService`, 202, 'developer'],
  listSnapshots: ['GET', `${one}/snapshots`, 200, 'viewer'],
  takeSnapshot: ['POST', `${one}/snapshots`, 202, 'developer'],
  deleteSnapshot: ['DELETE', `${one}/snapshots/{snapshot_id}`, 202, 'developer'],
  runQuery: ['POST', `${one}/query`, 200, 'developer'],
  setSnapshotPolicy: ['POST', `${one}/setSnapshotPolicy`, 200, 'developer'],
  drillService: ['POST', `${one}/drill`, 202, 'developer'],
  rewindService: ['POST', `${one}/rewind`, 202, 'developer'],
  undoRewind: ['POST', `${one}/undoRewind`, 202, 'developer'],
  resetService: ['POST', `${one}/reset`, 202, 'developer'],
  getRestorable: ['GET', `${one}/restorable`, 200, 'viewer'],
  getLineage: ['GET', '/projects/{project_id}/lineage', 200, 'viewer'],
  listServiceEvents: ['GET', `${one}/events`, 200, 'viewer'],
  listProjectEvents: ['GET', '/projects/{project_id}/events', 200, 'viewer'],
  listVpcs: ['GET', vpcs, 200, 'viewer'],
  createVpc: ['POST', vpcs, 201, 'admin'],
  getVpc: ['GET', `${vpcs}/{vpc_id}`, 200, 'viewer'],
  renameVpc: ['POST', `${vpcs}/{vpc_id}/rename`, 200, 'admin'],
  deleteVpc: ['DELETE', `${vpcs}/{vpc_id}`, 204, 'admin'],
  attachToVpc: ['POST', `${one}/attachToVPC`, 202, 'developer'],
  detachFromVpc: ['POST', `${one}/detachFromVPC`, 202, 'developer'],
  listPeerings: ['GET', `${vpcs}/{vpc_id}/peerings`, 200, 'viewer'],
  listProjectPeerings: ['GET', '/projects/{project_id}/peerings', 200, 'viewer'],
  createPeering: ['POST', `${vpcs}/{vpc_id}/peerings`, 201, 'admin'],
  getPeering: ['GET', `${vpcs}/{vpc_id}/peerings/{peering_id}`, 200, 'viewer'],
  deletePeering: ['DELETE', `${vpcs}/{vpc_id}/peerings/{peering_id}`, 204, 'admin'],
  getServiceLogs: ['GET', `${one}/logs`, 200, 'viewer'],
  getLogHistogram: ['GET', `${one}/logs/histogram`, 200, 'viewer'],
  getReplicaSetLogs: ['GET', `${one}/replicaSets/{replica_set_id}/logs`, 200, 'viewer'],
  listMetricSeries: ['GET', `${one}/metrics/available-series`, 200, 'viewer'],
  getMetricSeries: ['POST', `${one}/metrics/series`, 200, 'viewer'],
}

/** What only those see who manage it. And every user may log out: that changes only their own session. */
const guarded_reads = ['listTokens', 'listAudit']
/** What a person sees of themselves, and no token of theirs does. */
const own_reads = ['listLogins']

const rows = Object.entries<Endpoint>(api).map(([name, endpoint]) => ({ name, endpoint }))

test('the table has exactly the endpoints that were promised', () => {
  const built = rows.map(({ name, endpoint: it }) => [name, [it.method, it.path, it.success, it.access]])
  expect(Object.fromEntries(built)).toEqual(promised)
})

test('no method and path is there twice, whatever its parameters are called', () => {
  const places = rows.map(({ endpoint }) => `${endpoint.method} ${endpoint.path.replaceAll(/\{\w+\}/g, '{}')}`)
  expect(new Set(places).size).toBe(places.length)
})

describe.each(rows)('$name', ({ name, endpoint }) => {
  test('names each parameter of its path once, and the same things by the same names', () => {
    const names = pathParametersOf(endpoint.path)
    expect(new Set(names).size).toBe(names.length)
    expect(endpoint.path).toMatch(/^(\/(\{[a-z_]+\}|[a-zA-Z-]+|ca\.pem))+$/)
    expect(names.filter((name) => !isPathIdName(name))).toEqual([])
    if (endpoint.path.includes('/projects/')) expect(names[0]).toBe('project_id')
    if (endpoint.path.includes('/services/')) expect(names[1]).toBe('service_id')
    if (endpoint.path.includes('/vpcs/')) expect(names[1]).toBe('vpc_id')
  })

  test('needs a role exactly where a project is named', () => {
    expect(isRole(endpoint.access)).toBe(endpoint.path.includes('{project_id}'))
    const only_reads = effectOf(endpoint) === 'read'
    if (guarded_reads.includes(name)) expect(endpoint.access).toBe('admin')
    else if (own_reads.includes(name)) expect(endpoint.access).toBe('user')
    else if (only_reads) expect(['public', 'caller', 'viewer']).toContain(endpoint.access)
    else if (name !== 'logout') expect(['public', 'caller', 'viewer']).not.toContain(endpoint.access)
  })

  test('answers with a body exactly where its success code allows one', () => {
    if (endpoint.success === 204) expect(endpoint.output).toBeUndefined()
    if (endpoint.method === 'GET') expect(endpoint.output).toBeDefined()
    if (endpoint.method !== 'POST') expect(endpoint.body).toBeUndefined()
  })

  test('bounds every text and every list of its body', () => {
    for (const [name, field] of Object.entries(objectOf(endpoint.body).properties ?? {})) {
      if ('type' in field && field.type === 'string') expect(field, name).toHaveProperty('maxLength')
      if ('type' in field && field.type === 'array') expect(field, name).toHaveProperty('maxItems')
      if ('type' in field && field.type === 'integer') expect(field, name).toHaveProperty('maximum')
    }
  })
})

/** Noun and verb, effect, and where it matters: that it interrupts, and what follows. */
const derived: Record<EndpointName, string> = {
  logout: 'auth logout: change',
  getAuthInfo: 'auth info: read',
  listLogins: 'login list: read',
  endLogin: 'login delete: remove',
  getCaCertificate: 'ca get: read',
  getCapabilities: 'capabilities get: read',
  listProjects: 'project list: read',
  createProject: 'project create: add',
  renameProject: 'project rename: change',
  deleteProject: 'project delete: remove',
  listMembers: 'member list: read',
  addMember: 'member create: add',
  setMemberRole: 'member set-role: change',
  createLoginLink: 'member create-login-link: change',
  removeMember: 'member delete: remove',
  listTokens: 'token list: read',
  createToken: 'token create: add',
  revokeToken: 'token delete: remove',
  listAudit: 'project audit: read',
  listServices: 'service list: read',
  createService: 'service create: add, then service',
  getService: 'service get: read',
  deleteService: 'service delete: remove, then gone',
  renameService: 'service rename: change',
  resizeService: 'service resize: change, interrupts, then service',
  startService: 'service start: change, then service',
  stopService: 'service stop: change, interrupts, then service',
  updatePassword: 'service update-password: change, interrupts',
  setEnvironment: 'service set-environment: change',
  setExpiry: 'service set-expiry: change',
  setProtection: 'service set-protection: change',
  listDeletedServices: 'deleted-service list: read',
  restoreDeletedService: 'deleted-service restore: change, then service',
  purgeDeletedService: 'deleted-service purge: remove',
  setHA: 'service set-ha: change, then service',
  switchover: 'service switchover: change, interrupts, then service',
  enablePooler: 'service enable-pooler: change',
  disablePooler: 'service disable-pooler: change, interrupts',
  listReplicaSets: 'replica-set list: read',
  createReplicaSet: 'replica-set create: add, then replica_set',
  deleteReplicaSet: 'replica-set delete: remove, then gone',
  resizeReplicaSet: 'replica-set resize: change, interrupts, then replica_set',
  enableReplicaSetPooler: 'replica-set enable-pooler: change',
  disableReplicaSetPooler: 'replica-set disable-pooler: change, interrupts',
  setReplicaSetEnvironment: 'replica-set set-environment: change',
  forkService: 'service fork: add, then service',
  listSnapshots: 'snapshot list: read',
  takeSnapshot: 'snapshot create: add, then snapshot',
  deleteSnapshot: 'snapshot delete: remove, then gone',
  runQuery: 'service query: change',
  setSnapshotPolicy: 'service set-snapshot-policy: change',
  drillService: 'service drill: change, then service',
  rewindService: 'service rewind: change, interrupts, then service',
  undoRewind: 'service undo-rewind: change, interrupts, then service',
  resetService: 'service reset: change, interrupts, then service',
  getRestorable: 'service restorable: read',
  getLineage: 'project lineage: read',
  listServiceEvents: 'service events: read',
  listProjectEvents: 'project events: read',
  listVpcs: 'vpc list: read',
  createVpc: 'vpc create: add',
  getVpc: 'vpc get: read',
  renameVpc: 'vpc rename: change',
  deleteVpc: 'vpc delete: remove',
  attachToVpc: 'service attach-to-vpc: change, interrupts, then service',
  detachFromVpc: 'service detach-from-vpc: change, interrupts, then service',
  listPeerings: 'peering list: read',
  listProjectPeerings: 'project peerings: read',
  createPeering: 'peering create: add',
  getPeering: 'peering get: read',
  deletePeering: 'peering delete: remove',
  getServiceLogs: 'service logs: read',
  getLogHistogram: 'service logs-histogram: read',
  getReplicaSetLogs: 'replica-set logs: read',
  listMetricSeries: 'service metrics-available-series: read',
  getMetricSeries: 'service metrics-series: read',
}

describe('what clients derive', () => {
  const commands = rows.map(({ name, endpoint }) => {
    const { noun, verb } = commandOf(endpoint)
    const facts = [
      effectOf(endpoint),
      ...(endpoint.interrupts ? ['interrupts'] : []),
      ...(endpoint.follows === undefined ? [] : [`then ${endpoint.follows}`]),
    ]
    return { name, command: `${noun} ${verb}`, said: `${noun} ${verb}: ${facts.join(', ')}` }
  })

  test('has a noun and a verb for every endpoint, and tells what a call does', () => {
    expect(Object.fromEntries(commands.map(({ name, said }) => [name, said]))).toEqual(derived)
  })

  test('gives no two endpoints one command', () => {
    expect(new Set(commands.map(({ command }) => command)).size).toBe(rows.length)
  })

  test('knows what to wait for after every 202, and after no other answer', () => {
    const accepted = rows.filter(({ endpoint }) => endpoint.success === 202).map(({ name }) => name)
    const following = rows.filter(({ endpoint }) => endpoint.follows !== undefined).map(({ name }) => name)
    expect(following).toEqual(accepted)
    const removing = rows
      .filter(({ endpoint }) => endpoint.follows === 'gone')
      .map(({ endpoint }) => effectOf(endpoint))
    expect(new Set(removing)).toEqual(new Set(['remove']))
  })
})

test('every error code has the status that was decided', () => {
  const codes = Map.groupBy(fault_codes, (code) => fault_status[code])
  expect([...codes].map(([status, those]) => `${status} ${those.join(' ')}`)).toEqual([
    '400 INVALID_REQUEST WRONG_STATE',
    '401 UNAUTHORIZED',
    '403 FORBIDDEN QUOTA_EXCEEDED',
    '404 NOT_FOUND',
    '405 METHOD_NOT_ALLOWED',
    '409 CONFLICT',
    '413 PAYLOAD_TOO_LARGE',
    '415 UNSUPPORTED_MEDIA_TYPE',
    '429 RATE_LIMITED',
    '500 INTERNAL',
    '503 UNAVAILABLE',
  ])
})
