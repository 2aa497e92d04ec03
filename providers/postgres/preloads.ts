// The libraries with which a server starts, because they do not work when they are loaded later. Pure.
// pg_stat_statements is in every server; the others come with their extension, because they start
// processes that an idle service would pay for.

export type Preload = (typeof preloadable)[number]

/** In the order in which they want to be loaded. */
const preloadable = ['timescaledb', 'pg_stat_statements'] as const

/** `available`: the extensions of the installation; `wanted`: those of the service. */
export function preloadsOf(available: ReadonlySet<string>, wanted: readonly string[]): Preload[] {
  return preloadable.filter((name) => available.has(name) && (name === 'pg_stat_statements' || wanted.includes(name)))
}

/** Of TimescaleDB: its jobs; beside them it has a launcher, and a scheduler for each database. */
const job_workers = 4
const scheduler_workers = 4

/** How many background processes they need. */
export function preloadWorkers(preloads: readonly Preload[]): number {
  return preloads.includes('timescaledb') ? 1 + scheduler_workers + job_workers : 0
}

export function preloadSettings(preloads: readonly Preload[]): Record<string, string | number> {
  if (preloads.length === 0) return {}
  const has = (name: Preload) => preloads.includes(name)
  return {
    shared_preload_libraries: preloads.join(', '),
    // Statements such as ALTER ROLE would be kept with the password in them, for every role that monitors.
    ...(has('pg_stat_statements') && { 'pg_stat_statements.track_utility': 'off' }),
    ...(has('timescaledb') && { 'timescaledb.max_background_workers': scheduler_workers + job_workers }),
  }
}
