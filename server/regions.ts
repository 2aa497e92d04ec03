// The regions that this server serves: each a name for one provider with its settings. "Not served here" has one answer everywhere, and
// so has what a region refuses.
import { isIPv4 } from 'node:net'
import { join } from 'node:path'
import { Fault } from '#contract/fault.ts'
import { invalidRequest, type Problem } from '#contract/problem.ts'
import type { Offered, Provider, Refusal } from '#providers/provider.ts'
import { openProvider, type Options, stopProvider } from '#providers/registry.ts'
import type { Config } from './config.ts'
import type { Installation } from './installation.ts'
import type { Log } from './log.ts'
import type { RegionRow } from './region-file.ts'
import { isLoopback } from './setting-value.ts'

/** Region code → provider; the first one is the default region. */
export type Regions = ReadonlyMap<string, Provider>

export type RegionParts = {
  config: Config
  installation: Installation
  log: Log
  effect?: ((name: string) => void | Promise<void>) | undefined
  spares?: 0 | 1 | undefined
  installations?: Options['local']['installations']
}

/** Without a file of regions there is one, on this host. */
export const regionRowsOf = ({ regions, region }: Pick<Config, 'regions' | 'region'>): readonly RegionRow[] =>
  regions ?? [{ region_code: region, provider: 'local' }]

/** Closed with everything else that was opened, also when a later one cannot be. */
export async function openRegions(parts: RegionParts, opened: AsyncDisposableStack): Promise<Regions> {
  const regions = new Map<string, Provider>()
  for (const row of regionRowsOf(parts.config)) {
    const provider = await openProvider(row.provider, optionsOf(parts, row))
    opened.defer(() => provider.close())
    regions.set(row.region_code, provider)
  }
  return regions
}

export async function stopRegions(parts: RegionParts): Promise<void> {
  for (const row of regionRowsOf(parts.config)) await stopProvider(row.provider, optionsOf(parts, row))
}

function optionsOf(parts: RegionParts, row: RegionRow): Options {
  const { config, installation, log, effect, spares, installations } = parts
  const { region_code: region, delay_seconds = 0, members = {}, near = '', copy_host } = row
  const { installation_id } = installation
  const { service_host: host, service_ports: ports } = config
  return {
    local: {
      directory: installation.local_directory,
      installation_id,
      host,
      ports,
      copy_host: copy_host ?? (isLoopback(host) ? undefined : host),
      postgres_directories: config.postgres_directories,
      log_retention: config.log_retention,
      vpc_ranges: config.vpc_ranges,
      needed_addresses: neededAddressesOf(config),
      disk_quota: config.disk_quota,
      ...(effect && { effect }),
      ...(spares !== undefined && { spares }),
      ...(installations && { installations }),
      log: (fact, message) => log.warn(fact, message),
    },
    kubernetes: {
      region,
      installation_id,
      directory: join(installation.data_dir, 'kubernetes'),
      members,
      near,
      ...(effect && { effect }),
      log: (fact, message) => log.warn(fact, message),
    },
    memory: { identity: installation_id, host, ports, delay_ms: delay_seconds * 1000 },
  }
}

/** The literal addresses among what the settings name: the server needs these itself, so no VPC gets them. Pure. */
export function neededAddressesOf(
  config: Pick<Config, 'database_url' | 'oidc_issuer' | 'trusted_proxies'>,
): readonly string[] {
  const urls = [config.database_url, config.oidc_issuer].flatMap((text) => URL.parse(text ?? '') ?? [])
  const hosts = urls.flatMap((url) => [url.hostname, url.searchParams.get('host') ?? ''])
  return [...hosts, ...config.trusted_proxies].filter((host) => isIPv4(host))
}

export function getProvider(regions: Regions, region_code: string): Provider {
  const provider = regions.get(region_code)
  if (provider === undefined) {
    throw new Fault(
      'UNAVAILABLE',
      `region ${region_code} is not served by this server; send the request to a server of that region`,
    )
  }
  return provider
}

/** The region that a request names, or the default one; an unknown one is among the problems. */
export function parseRegion(region_code: string | undefined, regions: Regions, problems: Problem[]): string {
  const region = region_code ?? [...regions.keys()][0] ?? ''
  if (!regions.has(region)) {
    const message = `there is no region ${JSON.stringify(region)}; the regions are ${[...regions.keys()].join(', ')}`
    problems.push({ path: '/region_code', message })
  }
  return region
}

/** Refuses, in the words of the region, what it does not offer. */
export function requireOffered(offered: Offered, path = ''): void {
  if (!offered.offered) throw invalidRequest([{ path, message: offered.reason }])
}

/** Refuses, in the words of the region, what it can never make. */
export function requireMakeable(refusal: Refusal | undefined): void {
  if (refusal !== undefined) throw invalidRequest([refusal])
}

/** Among the problems of a request: none when the region refuses nothing. */
export function refusedBy(refusal: Refusal | undefined): Problem[] {
  return refusal === undefined ? [] : [refusal]
}

/** By which clients verify the servers of all regions. */
export function caPemOf(regions: Regions): string {
  return [...new Set([...regions.values()].map((provider) => provider.facts().ca_pem ?? ''))].join('')
}
