// Wires the server, in the order in which it comes up: data directory, metadata store, provider,
// reconciler, HTTP, registration. What a step opened is closed in reverse, when a later step fails as well as at shutdown.
// It prints nothing: what people should know is in the returned facts.
import { base_path } from '#contract/api.ts'
import { newAuditRecord } from './audit/record.ts'
import { auditHandlers } from './audit/routes.ts'
import { type BackupsKnown, openBackups } from './backup/backups.ts'
import { capabilityHandlers } from './capabilities.ts'
import { newChecks } from './checks.ts'
import { type ConsoleBuild, newConsoleBuild } from './console/build.ts'
import { newConsole } from './console/console.ts'
import { type Config, shutdown_grace_seconds } from './config.ts'
import type { Db } from './store/db.ts'
import { sql } from './store/sql.ts'
import { newHealing } from './healing.ts'
import { newHttp } from './http/http.ts'
import { hostsOf } from './http/host.ts'
import { closeHttp, listen } from './http/listening.ts'
import { newCallers, type Verifier } from './identity/callers.ts'
import { identityHandlers } from './identity/routes.ts'
import { tokenHandlers } from './identity/token-routes.ts'
import { newTickets } from './identity/tickets.ts'
import { newTokenVerifier } from './identity/token.ts'
import { openInstallation, type Installation } from './installation.ts'
import { type Log, newLog } from './log.ts'
import { serveMcp } from './mcp/mcp.ts'
import { memberHandlers } from './member/routes.ts'
import { stopMetadataStore } from './store/embedded.ts'
import { metricHandlers } from './metric/routes.ts'
import { type Sampler, startSampler } from './metric/sampler.ts'
import { serveMetrics } from './metric/scrape.ts'
import { newTelemetry, type Telemetry } from './metric/telemetry.ts'
import { loginHandlers } from './oauth/logins.ts'
import { logoutHandlers } from './oauth/logout.ts'
import { openOauth } from './oauth/oauth.ts'
import { startPasses } from './passes.ts'
import { peeringHandlers } from './peering/routes.ts'
import { projectHandlers } from './project/routes.ts'
import { queryHandlers } from './query/routes.ts'
import { newRateLimits } from './http/rate-limit.ts'
import { replicaSetHandlers } from './replica-set/routes.ts'
import { caPemOf, openRegions, type RegionParts, type Regions, stopRegions } from './regions.ts'
import { ensureRegion, ensureRegistration, type Registration } from './registration.ts'
import type { ServiceContext } from './service/context.ts'
import { eventTails } from './service/events.ts'
import { serviceHandlers } from './service/routes.ts'
import { newServiceLog } from './service-log/routes.ts'
import { openMetricsToken, openSecret } from './secret.ts'
import { newSettled } from './settled.ts'
import { snapshotHandlers } from './service/snapshots.ts'
import { openStore } from './store/access.ts'
import { version } from '#contract/version.ts'
import { vpcHandlers } from './vpc/routes.ts'
import { listWarnings } from './warnings.ts'
import { watchOver } from './watch-over.ts'
import { within } from './within.ts'

export type StartOptions = {
  log?: Log
  /** Called before every effect of the provider, by name: for tests that kill the server there. */
  effect?: (name: string) => void | Promise<void>
  /** Copies of the template that the local provider keeps ready; none, for tests that would only remove them again. */
  spares?: 0 | 1
  /** PostgreSQL's programs as another server of this process has found them, for tests that start many. */
  installations?: RegionParts['installations']
  /** Told once, where the metadata store does not answer at first. */
  onWait?: (reason: string) => void
  /** How often services are measured, for tests that cannot wait. */
  sample_interval_ms?: number
  /** More kinds of credentials, beside personal access tokens. */
  verifiers?: readonly Verifier[]
}

export type Server = Registration & {
  /** Where it listens, such as `http://127.0.0.1:8080`. */
  url: string
  /** Where browsers reach it. */
  public_url: string
  api_url: string
  docs_url: string
  data_dir: string
  regions: Regions
  /** What the operator should know and can change, a sentence each. */
  warnings: readonly string[]
  /** Builds the console, where its sources are newer than its build. Fulfilled with what went wrong, or with undefined. */
  buildConsole(): Promise<string | undefined>
  /** Finishes requests and passes under way, bounded by the grace; databases go on running. */
  close(): Promise<void>
}

export async function startServer(config: Config, options: StartOptions = {}): Promise<Server> {
  const log = options.log ?? newLog(config.log_level)
  const opened = new AsyncDisposableStack()
  try {
    return await start(config, options, log, opened)
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

/** Stops every database of the data directory and the embedded store. No server may run on it meanwhile. */
export async function stopEverything(config: Config, log: Log = newLog(config.log_level)): Promise<void> {
  const installation = await openInstallation(config.data_dir)
  try {
    await stopRegions({ config, installation, log })
  } finally {
    await stopMetadataStore({ directory: installation.store_directory })
  }
}

async function start(config: Config, options: StartOptions, log: Log, opened: AsyncDisposableStack): Promise<Server> {
  const installation = await openInstallation(config.data_dir)
  const secret = await openSecret(config.data_dir)

  const { effect, spares, installations, onWait } = options
  const store = await openStore(config, installation, log, { programs: installations, onWait })
  opened.defer(() => within(shutdown_grace_seconds, store.close(), log, 'the metadata store is still busy'))
  const { db } = store
  const providers = await openRegions({ config, installation, log, effect, spares, installations }, opened)
  const healing = newHealing(db, log)
  opened.defer(() => healing.close())
  for (const [region_code, provider] of providers) {
    await ensureRegion(db, region_code, provider.facts().identity)
    await watchOver({ region_code, provider, healing, db, log, opened })
  }
  const telemetry = newTelemetry()
  const sampler = startSampler({ db, log, providers, interval_ms: options.sample_interval_ms })
  opened.defer(() => within(shutdown_grace_seconds, sampler.stop(), log, 'some services are still being measured'))

  const settled = newSettled(db)
  const backups = openBackups({ config, installation, db, providers, log, settled }, opened)
  const context: ServiceContext = {
    db,
    log,
    providers,
    sampler,
    backedUp: (service_id) => backups.of(service_id),
    healing,
    secret,
    settled,
    snapshot_policy: config.snapshots,
    undelete_seconds: config.undelete,
  }
  await startPasses(context, telemetry, opened)

  const console_build = newConsoleBuild(log)
  opened.defer(async () => console_build.close())
  const parts = { config, options, log, opened, installation, context, sampler, telemetry, console_build, backups }
  const { url, public_url } = await serve(parts)
  opened.defer(() => settled.close())
  // The token is made once and shown once, so only when nothing but its showing is left to fail.
  const registration = await ensureRegistration(db, config.admin_email)

  const warnings = [...backups.warnings, ...(await listWarnings(db, providers, log))]
  const { data_dir, installation_id } = installation
  log.info({ url, version, data_dir, installation_id, store: store.kind }, 'server started')
  return {
    ...registration,
    // Where people log in elsewhere, there is no page for a password.
    password_link: config.oidc_issuer === undefined ? registration.password_link : undefined,
    url,
    public_url,
    api_url: url + base_path,
    docs_url: `${url}/docs`,
    data_dir,
    regions: providers,
    warnings,
    buildConsole: () => console_build.run(),
    close: async () => {
      log.info({}, 'server stopping')
      await opened.disposeAsync()
      log.info({}, 'server stopped')
    },
  }
}

type Parts = {
  config: Config
  options: StartOptions
  log: Log
  opened: AsyncDisposableStack
  installation: Installation
  context: ServiceContext
  sampler: Sampler
  telemetry: Telemetry
  console_build: ConsoleBuild
  backups: BackupsKnown
}

/** From here on requests are answered. */
async function serve(parts: Parts): Promise<{ url: string; public_url: string }> {
  const { config, options, log, opened, installation, context, sampler, telemetry, console_build, backups } = parts
  const { db } = context
  const { installation_id, data_dir } = installation
  const oauth = openOauth({ config, db, log, installation_id, secret: context.secret })
  opened.defer(async () => oauth.close())
  const tokens = newTokenVerifier(db)
  const tickets = newTickets()
  const verifiers = [tokens, oauth.verifier, tickets.verifier, ...(options.verifiers ?? [])]
  const callers = newCallers(db, verifiers)
  const service_log = newServiceLog(context)
  const forget = () => callers.forget()
  const console_part = newConsole({ db, origin: oauth.origin, forget, build: console_build })
  const http = newHttp({
    handlers: {
      ...identityHandlers(),
      ...capabilityHandlers({ config, providers: context.providers }),
      ...logoutHandlers({ db, callers }),
      ...loginHandlers({ db, callers }),
      ...projectHandlers({ db, callers }),
      ...memberHandlers({ db, callers }),
      ...oauth.handlers,
      ...tokenHandlers({ db, callers }),
      ...auditHandlers({ db }),
      ...serviceHandlers(context),
      ...replicaSetHandlers(context),
      ...snapshotHandlers(context),
      ...queryHandlers(context, config),
      ...vpcHandlers(context),
      ...peeringHandlers(context),
      ...service_log.handlers,
      ...metricHandlers(context),
    },
    tails: { ...eventTails(context), ...service_log.tails },
    checks: newChecks(context),
    callers,
    rate_limits: newRateLimits(config.rate_limit),
    recordOutcome: newAuditRecord(db, log),
    hosts: hostsOf(config),
    trusted_proxies: config.trusted_proxies,
    ready: () => reasonNotReady(db),
    caPem: () => caPemOf(context.providers),
    page: console_part.page,
    onAnswer: telemetry.request,
    log,
    version,
  })
  serveMetrics(http, await openMetricsToken(data_dir), () =>
    telemetry.text({ sql: db, sampler, version, backup_lags: backups.lags() }),
  )
  opened.defer(() => closeHttp(http, log))
  oauth.serve(http, forget)
  console_part.serve(http)
  serveMcp(http, { origin: oauth.origin, tokens, readAccessToken: oauth.readAccessToken, tickets, version })
  const url = await listen(http, config)
  const public_url = config.public_url ?? url
  oauth.setOrigin(public_url)
  return { url, public_url }
}

async function reasonNotReady(db: Db): Promise<string | undefined> {
  try {
    await db.query(sql`select 1`)
    return undefined
  } catch {
    return 'the metadata store cannot be reached right now'
  }
}
