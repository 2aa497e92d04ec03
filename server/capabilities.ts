// What this installation can do, told from the facts of its regions: the same facts by which requests are refused.
import { addons, replica_count_max } from '#contract/service-input.ts'
import { sizes } from '#contract/size.ts'
import type { Capabilities } from '#contract/capabilities.ts'
import { metric_labels, type MetricName, metric_names, metric_series } from '#contract/metric.ts'
import { nodes_max } from '#contract/replica-set.ts'
import type { Provider, Refusal } from '#providers/provider.ts'
import type { Config } from './config.ts'
import { event_days_max, events_per_service_max } from './event-retention.ts'
import type { Handlers } from './http/handler.ts'
import { tiers } from './metric/tier.ts'
import { queriesOffered } from './query/routes.ts'
import type { Regions } from './regions.ts'
import { sets_per_service_max } from './replica-set/rules.ts'
import { extensionsOf, services_per_project_max } from './service/rules.ts'
import { version } from '#contract/version.ts'
import { vpcs_per_project_max } from './vpc/rules.ts'

type Settings = Pick<Config, 'oidc_issuer' | 'snapshots' | 'undelete' | 'log_retention' | 'sql_api'>
type Parts = { config: Settings; providers: Regions }

const day_seconds = 86_400

export function capabilityHandlers({ config, providers }: Parts): Pick<Handlers, 'getCapabilities'> {
  return {
    getCapabilities: async () => ({
      version,
      login: config.oidc_issuer === undefined ? 'password' : 'oidc',
      regions: [...providers].map(([code, provider], at) => ({
        code,
        is_default: at === 0,
        ...regionOf(provider, config.sql_api),
      })),
      metrics: metric_names.map((name) => ({ name, ...describedOf(name) })),
      retention: {
        snapshots: config.snapshots,
        deleted_services: { seconds: config.undelete },
        events: {
          seconds: event_days_max.of_services * day_seconds,
          kept: events_per_service_max,
          removed_seconds: event_days_max.of_removed * day_seconds,
        },
        logs: { seconds: config.log_retention.days * day_seconds, bytes: config.log_retention.mb * 1024 ** 2 },
        metrics: tiers.map((tier) => ({ ...tier })),
      },
      limits: {
        services_per_project: services_per_project_max,
        replicas_per_service: replica_count_max,
        replica_sets_per_service: sets_per_service_max,
        nodes_per_replica_set: nodes_max,
        vpcs_per_project: vpcs_per_project_max,
      },
    }),
  }
}

function describedOf(name: MetricName) {
  const { unit, description, functions } = metric_series[name]
  return { unit, description, labels: [...metric_labels], functions: [...functions] }
}

function regionOf(
  { service, ...region }: Provider,
  sql_api: Config['sql_api'],
): Omit<Capabilities['regions'][number], 'code' | 'is_default'> {
  const facts = region.facts()
  const { provider, volume_type, copy_on_write, postgres_versions } = facts
  return {
    provider,
    volume_type,
    copy_on_write,
    postgres_versions: [...postgres_versions],
    sizes: sizes.map((size) => ({ ...size, ...offeredUnless(service.refusal({ size })) })),
    shared: offeredUnless(service.refusal({ size: 'shared' })),
    addons: addons.map((name) => ({ name, ...offeredUnless(service.refusal({ extensions: extensionsOf([name]) })) })),
    features: {
      pooler: facts.pooler,
      replica_sets: facts.replica_sets,
      vpcs: facts.vpcs,
      snapshots: facts.snapshots,
      forks_in: facts.forks_in,
      forks_out: facts.forks_out,
      rewinds: facts.rewinds,
      drills: facts.drills,
      logs: facts.logs,
      complete_logs: facts.complete_logs,
      limits: facts.limits,
      queries: queriesOffered(facts, sql_api),
      read_only_sessions: facts.read_only_sessions,
    },
  }
}

function offeredUnless(refusal: Refusal | undefined): { offered: boolean; reason?: string } {
  return refusal === undefined ? { offered: true } : { offered: false, reason: refusal.message }
}
