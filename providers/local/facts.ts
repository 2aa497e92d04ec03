// What this region offers, as last observed, and what it therefore refuses: answered at once, so that a request never waits for
// the host. Facts that may change while the server runs (an installed program, a route of the host) are read again by a poll;
// each pass reads the host before it acts, so an old fact delays a message and protects nothing.
import { availableParallelism, totalmem } from 'node:os'
import { isHostRoot } from '../host/privilege.ts'
import { offeredUnless, refusalUnless } from '../offered.ts'
import type { Refusal, RegionFacts, ReplicaSetParts, ServiceParts, Size } from '../provider.ts'
import type { Limits } from './host/limits.ts'
import { copyOnWriteFact } from './host-facts.ts'
import { sharedUserWarnings } from './isolation.ts'
import { poolerRefusal } from './pooler/pooler.ts'
import { installationFor, missingExtensionSentence, type PostgresInstallation } from './postgres/installation.ts'
import { balancerRefusal } from './replica-set/balancer.ts'
import { type HostUse, readHostUse, vpcRefusal, type VpcRanges } from './vpc/ranges.ts'
import { first_major_with_logins } from '../postgres/read-only-session.ts'
import type { Authority } from '../postgres/certificate.ts'

export type Facts = {
  now: () => RegionFacts
  serviceRefusal: (parts: ServiceParts) => Refusal | undefined
  replicaSetRefusal: (parts: ReplicaSetParts) => Refusal | undefined
  rangeRefusal: (cidr: string) => Refusal | undefined
  close(): Promise<void>
}

type Host = {
  directory: string
  installation_id: string
  installations: readonly PostgresInstallation[]
  limits: Pick<Limits, 'enforced' | 'description'>
  disk_quota: number
  authority: Pick<Authority, 'certificate_pem'>
  vpc_ranges: VpcRanges
  /** Where other regions reach its services; absent: they do not. */
  copy_host?: string | undefined
  networkRefusal(): Promise<string | undefined>
}

type Observed = {
  pooler?: string | undefined
  balancer?: string | undefined
  network?: string | undefined
  use: HostUse
  shares_blocks: boolean
}

const poll_every_ms = 30_000
/** Later than the first passes of a start. */
const first_poll_ms = 1_000
const gib = 1024 ** 3

/** Waits for what is read quickly; `host_use` may have been begun before. Networks, which take programs to try, count as offered until then. */
export async function openFacts(host: Host, host_use: Promise<HostUse>): Promise<Facts> {
  const quick = async () => ({ pooler: await poolerRefusal(), balancer: await balancerRefusal() })
  const whole = async (): Promise<Observed> => {
    const [found, network, use] = await Promise.all([quick(), host.networkRefusal(), readHostUse()])
    const { supported } = await copyOnWriteFact(host.directory)
    return { ...found, network, use, shares_blocks: supported }
  }
  let observed: Observed = { ...(await quick()), use: await host_use, shares_blocks: false }
  const refresh = async () => {
    observed = await whole()
  }
  // A failed poll keeps the facts of the one before; the next poll comes anyway.
  let refreshing = Promise.resolve()
  const again = () => {
    refreshing = refreshing.then(refresh).catch(() => undefined)
  }
  const first = setTimeout(again, first_poll_ms).unref()
  const timer = setInterval(again, poll_every_ms).unref()
  const now = () => factsOf(host, observed)
  return {
    now,
    serviceRefusal: (parts) => serviceRefusal(parts, host.installations, now()),
    replicaSetRefusal: ({ size, nodes = 1 }) =>
      (size && sizeRefusal(size, thisHost())) ?? (nodes > 1 ? refusalUnless(now().replica_sets, '/nodes') : undefined),
    rangeRefusal: (cidr) => refused('/cidr', vpcRefusal(host.vpc_ranges, observed.use, cidr)),
    close: async () => {
      clearTimeout(first)
      clearInterval(timer)
      await refreshing
    },
  }
}

function factsOf(
  { installation_id, installations, limits, disk_quota, authority, vpc_ranges: { vpc_ranges }, copy_host }: Host,
  { pooler, balancer, network, shares_blocks }: Observed,
): RegionFacts {
  return {
    identity: installation_id,
    provider: 'local',
    postgres_versions: installations.map(({ version }) => version),
    volume_type: 'local',
    copy_on_write: shares_blocks,
    ca_pem: authority.certificate_pem,
    disk_gbs_per_memory_gb: disk_quota,
    warnings: sharedUserWarnings(),
    ...(isHostRoot() && { vpc_ranges }),
    pooler: offeredUnless(pooler),
    replica_sets: offeredUnless(balancer),
    vpcs: offeredUnless(network),
    snapshots: { offered: true },
    forks_in: { offered: false, reason: 'this machine copies its own services only; move one here with pg_dump' },
    forks_out: offeredUnless(copy_host === undefined ? unreachable : undefined),
    ...(copy_host !== undefined && { copy_host }),
    logs: { offered: true },
    complete_logs: { offered: true },
    limits: offeredUnless(limits.enforced ? undefined : limits.description),
    rewinds: { offered: true },
    drills: { offered: true },
    queries: { offered: true },
    read_only_sessions: offeredUnless(readOnlySessionsLack(installations)),
  }
}

const unreachable =
  'the services of this machine listen at addresses that other regions do not reach; name one at which they do with copy_host of the region, or listen there with --service-host'

function readOnlySessionsLack(installations: readonly PostgresInstallation[]): string | undefined {
  const older = installations.filter(({ major }) => major < first_major_with_logins).map(({ version }) => version)
  if (older.length === 0) return undefined
  return `PostgreSQL ${older.join(' and ')} has no triggers at the login: a session there that asks to read only is neither held to it nor refused; PostgreSQL ${first_major_with_logins} and newer do it`
}

const refused = (path: string, message: string | undefined) => (message === undefined ? undefined : { path, message })

type Has = { memory: number; cores: number }

const thisHost = (): Has => ({ memory: totalmem(), cores: availableParallelism() })

function serviceRefusal(
  { size, extensions, pooler, vpc }: ServiceParts,
  installations: readonly PostgresInstallation[],
  facts: RegionFacts,
): Refusal | undefined {
  return (
    (pooler && refusalUnless(facts.pooler, '')) ??
    (vpc && refusalUnless(facts.vpcs, '')) ??
    (size && sizeRefusal(size, thisHost())) ??
    (extensions && extensionsRefusal(extensions, installations))
  )
}

/** A host sold with 2 GB has a little less: a begun gibibyte counts as whole. */
export function sizeRefusal(size: Size, has: Has): Refusal | undefined {
  if (size === 'shared') return undefined
  const memory_gbs = Math.ceil(has.memory / gib)
  if (size.memory_gbs > memory_gbs) {
    const message = `this region has ${memory_gbs} GB of memory in all, less than the ${size.memory_gbs} GB asked for; choose a smaller size`
    return { path: '/memory_gbs', message }
  }
  if (size.cpu_millis > has.cores * 1000) {
    const message = `this region has ${has.cores * 1000} CPU millis in all, less than the ${size.cpu_millis} asked for; choose a smaller size`
    return { path: '/cpu_millis', message }
  }
  return undefined
}

function extensionsRefusal(extensions: readonly string[], installations: readonly PostgresInstallation[]) {
  if (installationFor(installations, extensions)) return undefined
  return { path: '/addons', message: missingExtensionSentence(installations, extensions) }
}
