// What has to be done so that a project has what a file describes. Names are keys; a member that the file leaves out stays as it is.
// Pure: a plan is data, and apply.ts carries it out.
import { nearestOf } from '#contract/nearest.ts'
import type { Service } from '#contract/service.ts'
import { parseSize } from '#contract/size.ts'
import { UsageError } from '../command.ts'
import { set_members, setSteps, type WantedSet } from './apply-sets.ts'
import type { Step } from './apply-step.ts'

export type WantedService = {
  name: string
  addons?: string[]
  cpu_millis?: number | string
  memory_gbs?: number | string
  environment_tag?: 'DEV' | 'PROD'
  region_code?: string
  replica_count?: number
  sync_replica_count?: number
  pooler?: boolean
  expires_at?: string
  replica_sets?: readonly WantedSet[]
}
export type WantedVpc = { name: string; cidr: string; region_code?: string }
export type Wanted = { services: readonly WantedService[]; vpcs: readonly WantedVpc[] }

const service_members = [
  'name',
  'addons',
  'cpu_millis',
  'memory_gbs',
  'environment_tag',
  'region_code',
  'replica_count',
  'sync_replica_count',
  'pooler',
  'expires_at',
  'replica_sets',
] as const
const vpc_members = ['name', 'cidr', 'region_code'] as const

export function parseWanted(value: unknown): Wanted {
  const { services = [], vpcs = [] } = checked(value, ['services', 'vpcs'], 'the file')
  // Each value is the server's to check; here only what could be understood wrongly is refused.
  return {
    services: listOf(services, service_members, 'services').map((service: WantedService) => ({
      ...service,
      ...(service.replica_sets && { replica_sets: listOf(service.replica_sets, set_members, 'replica_sets') }),
    })),
    vpcs: listOf(vpcs, vpc_members, 'vpcs') as WantedVpc[],
  }
}

function listOf(value: unknown, members: readonly string[], what: string): { name: string }[] {
  if (!Array.isArray(value)) throw new UsageError(`${what} must be a list`)
  const items = value.map((item: unknown, index) => {
    const { name, ...others } = checked(item, members, `${what}[${index}]`)
    if (typeof name !== 'string' || name === '') throw new UsageError(`${what}[${index}]: name is missing`)
    return { name, ...others }
  })
  const twice = items.find(({ name }, index) => items.findIndex((one) => one.name === name) !== index)
  if (twice !== undefined) throw new UsageError(`${what}: ${JSON.stringify(twice.name)} is there twice`)
  return items
}

function checked(value: unknown, members: readonly string[], what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError(`${what} must be an object`)
  const unknown = Object.keys(value).find((name) => !members.includes(name))
  if (unknown === undefined) return { ...value }
  const meant = nearestOf(unknown, members)
  const way = meant === undefined ? `there are ${members.join(', ')}` : `did you mean ${meant}?`
  throw new UsageError(`${what}: there is no member ${JSON.stringify(unknown)}; ${way}`)
}

export function planOf(
  wanted: Wanted,
  services: readonly Service[],
  vpcs: readonly Required<WantedVpc>[],
  is_pruned: boolean,
): Step[] {
  for (const vpc of wanted.vpcs) refuseOtherVpc(vpc, vpcs)
  const new_vpcs = wanted.vpcs.filter(({ name }) => !vpcs.some((one) => one.name === name))
  const unwanted = services.filter(
    ({ name, status }) => status !== 'DELETING' && !wanted.services.some((one) => one.name === name),
  )
  return [
    ...new_vpcs.map((vpc): Step => ({
      endpoint: 'createVpc',
      body: vpc,
      line: `+ VPC ${vpc.name} ${vpc.cidr}`,
      is_risky: false,
    })),
    ...wanted.services.flatMap((one) => stepsFor(one, services, is_pruned)),
    ...(is_pruned ? unwanted.map(deletionOf) : []),
  ]
}

function refuseOtherVpc({ name, cidr, region_code }: WantedVpc, vpcs: readonly Required<WantedVpc>[]): void {
  const vpc = vpcs.find((one) => one.name === name)
  if (vpc !== undefined && vpc.cidr !== cidr) throw unchangeable(`VPC ${name}: it has ${vpc.cidr}`)
  if (vpc !== undefined && vpc.region_code !== (region_code ?? vpc.region_code))
    throw unchangeable(`VPC ${name}: it is in region ${vpc.region_code}`)
}

const unchangeable = (fact: string) => new UsageError(`${fact}, which cannot be changed; correct the file`)

function stepsFor(wanted: WantedService, services: readonly Service[], is_pruned: boolean): Step[] {
  const { name, replica_sets, ...described } = wanted
  const named = services.filter((one) => one.name === name && one.status !== 'DELETING')
  const [service, another] = named
  if (another !== undefined) {
    const ids = named.map(({ service_id }) => service_id).join(', ')
    throw new UsageError(`${named.length} services are called ${JSON.stringify(name)}: ${ids}; names are keys here`)
  }
  const { pooler = false, ...body } = described
  const creation: Step[] = [
    { endpoint: 'createService', service: name, body: { name, ...body }, line: `+ service ${name}`, is_risky: false },
    ...(pooler ? [poolerStep(name, true)] : []),
  ]
  return [
    ...(service === undefined ? creation : changesOf(wanted, service)),
    ...(replica_sets ? setSteps(name, replica_sets, service?.read_replica_sets ?? [], is_pruned) : []),
  ]
}

const poolerStep = (service: string, on: boolean): Step => ({
  endpoint: on ? 'enablePooler' : 'disablePooler',
  service,
  line: `~ service ${service}: connection pooler ${on ? 'on' : 'off'}`,
  is_risky: !on,
})

function changesOf(wanted: WantedService, service: Service): Step[] {
  const { name, ha_replicas, metadata, connection_pooler, region_code } = service
  const steps: Step[] = []
  if (region_code !== (wanted.region_code ?? region_code))
    throw unchangeable(`service ${name}: it is in region ${region_code}`)
  const size = parseSize(wanted, 'shared', true)
  const { cpu_millis = 0 } = service.resources[0]?.spec ?? {}
  const is_named = wanted.cpu_millis !== undefined || wanted.memory_gbs !== undefined
  if (size === undefined || (size === 'shared' && is_named && cpu_millis !== 0)) {
    throw new UsageError(`service ${name}: there is no such size to change to`)
  }
  if (size !== 'shared' && size.cpu_millis !== cpu_millis) {
    const line = `~ service ${name}: ${cpu_millis || 'shared'} → ${size.cpu_millis} milli-cores, which restarts it`
    steps.push({ endpoint: 'resizeService', service: name, body: size, line, is_risky: true })
  }
  const { environment_tag: environment = metadata.environment, pooler = connection_pooler !== undefined } = wanted
  if (environment !== metadata.environment) {
    const line = `~ service ${name}: ${metadata.environment} → ${environment}`
    steps.push({ endpoint: 'setEnvironment', service: name, body: { environment }, line, is_risky: false })
  }
  const { replica_count = ha_replicas.replica_count, sync_replica_count = ha_replicas.sync_replica_count } = wanted
  if (replica_count !== ha_replicas.replica_count || sync_replica_count !== ha_replicas.sync_replica_count) {
    const line = `~ service ${name}: ${replica_count} replicas, ${sync_replica_count} of them synchronous`
    steps.push({ endpoint: 'setHA', service: name, body: { replica_count, sync_replica_count }, line, is_risky: false })
  }
  if (pooler !== (connection_pooler !== undefined)) steps.push(poolerStep(name, pooler))
  const { expires_at } = wanted
  if (expires_at !== undefined && Date.parse(expires_at) !== Date.parse(service.expires_at ?? '')) {
    const line = `~ service ${name}: it expires at ${expires_at}`
    steps.push({ endpoint: 'setExpiry', service: name, body: { expires_at }, line, is_risky: true })
  }
  return steps
}

function deletionOf({ name, service_id, metadata }: Service): Step {
  const line = `- service ${name} (${service_id}, ${metadata.environment}) with all its data`
  return { endpoint: 'deleteService', service: name, line, is_risky: true }
}
