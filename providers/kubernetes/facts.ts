// What a cell offers, read every half minute: its nodes, its image catalog, its storage class. Requests are refused by these facts
// alone; none of them asks the API server.
import { offeredUnless, refusalUnless } from '../offered.ts'
import type { RegionFacts, Refusal, ReplicaSetParts, ServiceParts, Size } from '../provider.ts'
import type { Authority } from '../postgres/certificate.ts'
import type { Client } from './api/client.ts'
import type { Thing } from './api/kinds.ts'
import type { CellSettings } from './cell.ts'
import { imageVersion } from './cluster/version.ts'
import { quantityOf } from './sizes.ts'

type Spec = {
  identity: string
  region: string
  settings: CellSettings
  client: Pick<Client, 'find' | 'list'>
  authority: Authority
}

type Image = { major: number; image: string }
type Capacity = { cpu_millis: number; memory_bytes: number }

const poll_ms = 30_000
const first_poll_ms = 1_000
const gib = 2 ** 30
/** Extensions that need no image of their own are PostgreSQL's. */
const known_extensions = ['timescaledb', 'vector']

export function openFacts({ identity, region, settings, client, authority }: Spec) {
  let images: readonly Image[] = []
  let largest: Capacity | undefined
  async function refresh(): Promise<void> {
    images = imagesOf(await client.find({ kind: 'ClusterImageCatalog', name: settings.catalog }))
    largest = largestOf((await client.list({ kind: 'Node' })).items)
  }
  let refreshing = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  // A failed poll keeps the facts of the one before.
  const again = () => {
    refreshing = refresh()
      .catch(() => undefined)
      .finally(() => (timer = setTimeout(again, images.length === 0 ? first_poll_ms : poll_ms).unref()))
  }
  again()
  const now = (): RegionFacts => ({
    identity,
    provider: 'kubernetes',
    postgres_versions: images.map(({ image, major }) => imageVersion(image, major)),
    volume_type: settings.storage_class ?? 'kubernetes',
    copy_on_write: false,
    ca_pem: authority.certificate_pem,
    disk_gbs_per_memory_gb: 0,
    ...offersOf(region, settings),
  })
  const sizeRefusal = (size: Size) => refusalOfSize(size, largest, region)
  return {
    now,
    image: (major?: number): Image | undefined => images.find((one) => major === undefined || one.major === major),
    serviceRefusal: ({ size, extensions, pooler, vpc, copy_of }: ServiceParts): Refusal | undefined =>
      (copy_of === 'off' && settings.store === undefined ? refusalOfPaused(region) : undefined) ??
      (pooler && refusalUnless(now().pooler, '')) ??
      (vpc && refusalUnless(now().vpcs, '')) ??
      (size && sizeRefusal(size)) ??
      (extensions && refusalOfExtensions(extensions, settings.extensions, region)),
    replicaSetRefusal: ({ size }: ReplicaSetParts): Refusal | undefined =>
      refusalUnless(now().replica_sets, '') ?? (size && sizeRefusal(size)),
    vpcRefusal: (): Refusal | undefined => refusalUnless(now().vpcs, '/region_code'),
    async close(): Promise<void> {
      await refreshing
      clearTimeout(timer)
    },
  }
}

/** What follows from its settings, or always holds. Pure. */
export function offersOf(region: string, settings: CellSettings) {
  const not_offered = (what: string) => offeredUnless(`${what} in region ${region}`)
  const offeredWith = (setting: unknown, reason: string) => offeredUnless(setting === undefined ? reason : undefined)
  const always = offeredUnless(undefined)
  return {
    pooler: offeredWith(
      settings.pooler_image,
      `region ${region} has no image with PgBouncer; name one with pooler_image`,
    ),
    replica_sets: always,
    vpcs: not_offered('VPCs are not offered'),
    snapshots: offeredWith(
      settings.store,
      `region ${region} keeps no snapshots: no object store is configured; name one with store`,
    ),
    forks_in: always,
    forks_out: not_offered('copies into other regions are made with pg_dump only'),
    logs: always,
    complete_logs: offeredUnless(
      `logs in region ${region} are those of the Pods: they have no logins, of more than 100 entries in a second each hundredth only, and nothing from before a stop`,
    ),
    limits: always,
    rewinds: not_offered('rewinds, resets and masked forks are not offered'),
    drills: not_offered('restores are not tried out'),
    queries: not_offered('SQL statements through the API are not offered'),
    read_only_sessions: not_offered('a session that asks to read only is neither held to it nor refused'),
  }
}

const refusalOfPaused = (region: string): Refusal => ({
  path: '/fork_strategy',
  message: `a paused service cannot be forked in region ${region}, which copies from a running one; start it first`,
})

/** Newest first. */
function imagesOf(catalog: Thing | undefined): Image[] {
  const spec = catalog && 'spec' in catalog ? catalog.spec : undefined
  // The form of the kind.
  const images = (spec as { images?: readonly Image[] } | undefined)?.images ?? []
  return images.map(({ major, image }) => ({ major, image })).toSorted((one, other) => other.major - one.major)
}

function largestOf(nodes: readonly Thing[]): Capacity | undefined {
  const has = nodes.map((node): Capacity => {
    const status = 'status' in node ? node.status : undefined
    // The form of the kind.
    const { cpu = '0', memory = '0' } =
      (status as { allocatable?: Record<string, string> } | undefined)?.allocatable ?? {}
    return { cpu_millis: quantityOf(cpu) * 1000, memory_bytes: quantityOf(memory) }
  })
  if (has.length === 0) return undefined
  return {
    cpu_millis: Math.max(...has.map((one) => one.cpu_millis)),
    memory_bytes: Math.max(...has.map((one) => one.memory_bytes)),
  }
}

function refusalOfSize(size: Size, largest: Capacity | undefined, region: string): Refusal | undefined {
  if (size === 'shared' || largest === undefined) return undefined
  if (size.memory_gbs * gib > largest.memory_bytes) {
    const gbs = Math.floor(largest.memory_bytes / gib)
    const message = `the largest node of region ${region} has ${gbs} GB of memory for Pods, less than the ${size.memory_gbs} GB asked for; choose a smaller size`
    return { path: '/memory_gbs', message }
  }
  if (size.cpu_millis <= largest.cpu_millis) return undefined
  const message = `the largest node of region ${region} has ${Math.floor(largest.cpu_millis)} milli-cores for Pods, fewer than the ${size.cpu_millis} asked for; choose a smaller size`
  return { path: '/cpu_millis', message }
}

function refusalOfExtensions(
  wanted: readonly string[],
  offered: readonly string[],
  region: string,
): Refusal | undefined {
  const missing = wanted.find((name) => known_extensions.includes(name) && !offered.includes(name))
  if (missing === undefined) return undefined
  const message = `the images of region ${region} do not have ${missing}; use images that have it, and name it among the extensions of the region`
  return { path: '/addons', message }
}
