// A whole installation inside the test's own process: a server with everything behind it on a fresh data directory, a
// caller that has the first token, and a stop that leaves nothing behind.
import type { LocalProvider } from '#providers/local/local.ts'
import type { Provider } from '#providers/provider.ts'
import { type Config, loadConfig } from '#server/config.ts'
import { type Log, newLog } from '#server/log.ts'
import { type Server, startServer, type StartOptions } from '#server/main.ts'
import { type Answer, type Call, newCall, type ServiceOrFault } from './call.ts'
import { newDataDir, removeDataDir } from './data-dir.ts'
import { newServicePorts } from './ports.ts'
import { newSeededDataDir } from './seed.ts'
import { until } from './until.ts'

export type TestInstallation = {
  server: Server
  config: Config
  token: string
  project_id: string
  /** `/projects/<project_id>/services` */
  services: string
  call: Call
  /** Creates a service and waits until it is READY; the answer has the password. */
  createService(input?: Readonly<Record<string, unknown>>): Promise<ReadyService>
  /** Waits until the service has the status (or 404 for `removed`) and returns the last answer. */
  untilStatus(service_id: string, status: string): Promise<Answer<ServiceOrFault>>
  /** Newest first. */
  eventsOf(service_id: string): Promise<TestEvent[]>
  /** Closes the server and starts another one on the same data; databases go on running meanwhile. */
  restart(): Promise<void>
  /** Ends everything and removes the data. Safe to call twice, and after any failure. */
  stop(): Promise<void>
}

export type TestEvent = { time: string; kind: string; message: string }

export type ReadyService = {
  service_id: string
  name: string
  initial_password: string
  endpoint: { host: string; port: number }
}

export type TestOptions = {
  config?: Partial<Config>
  effect?: StartOptions['effect']
  verifiers?: StartOptions['verifiers']
  log?: Log
  sample_interval_ms?: number
}

/** What a service is when nothing is under way. It is waited for by one request: a poll every 20 ms takes a tenth of a create. */
const at_rest = new Set(['READY', 'PAUSED', 'removed'])
/** Short, because a test may have stopped what is under way. */
const waiting = { prefer: 'wait=1' }

/** As the first server of this process has found them: whether PostgreSQL's programs run here is the same for all of them. */
let installations: StartOptions['installations']

/** On a fresh data directory, unless the options name one: then on what is there. */
export async function startInstallation(options: TestOptions = {}): Promise<TestInstallation> {
  const data_dir = options.config?.data_dir ?? (await newSeededDataDir())
  const config = newTestConfig({ ...options.config, data_dir })
  const start = async () => {
    const server = await startServer(config, {
      log: options.log ?? newLog(config.log_level),
      spares: 0,
      ...(options.effect && { effect: options.effect }),
      ...(options.sample_interval_ms && { sample_interval_ms: options.sample_interval_ms }),
      ...(options.verifiers && { verifiers: options.verifiers }),
      ...(installations && config.postgres_directories.length === 0 && { installations }),
    })
    if (config.postgres_directories.length === 0) installations ??= installationsOf(server, config.data_dir)
    return server
  }
  try {
    const server = await start()
    if (server.first_token === undefined || server.project_id === undefined) throw new Error('no first token')
    return newInstallation(config, server, server.first_token, server.project_id, start)
  } catch (error) {
    await removeDataDir(config.data_dir)
    throw error
  }
}

/** Not where they are copies below its data directory, which are removed with it. */
function installationsOf({ regions }: Server, data_dir: string): StartOptions['installations'] {
  const isLocal = (provider: Provider): provider is LocalProvider => 'installations' in provider
  const found = [...regions.values()].find(isLocal)?.installations
  return found?.some(({ bin }) => bin.startsWith(data_dir)) ? undefined : found
}

/** A fresh data directory and ports of its own, no rate limits; quiet, unless TEST_LOG_LEVEL says otherwise. */
export function newTestConfig(changes: Partial<Config> = {}): Config {
  const defaults = loadConfig(['--log-level', process.env['TEST_LOG_LEVEL'] ?? 'silent'], {})
  return {
    ...defaults,
    port: 0,
    rate_limit: 0,
    // Most tests want nothing left of what they delete.
    undelete: 0,
    data_dir: changes.data_dir ?? newDataDir(),
    service_ports: newServicePorts(),
    ...changes,
  }
}

function newInstallation(
  config: Config,
  first: Server,
  token: string,
  project_id: string,
  start: () => Promise<Server>,
): TestInstallation {
  const services = `/projects/${project_id}/services`
  let server: Server | undefined = first
  const call: Call = (method, path, body, headers) =>
    newCall(installation.server.api_url, token)(method, path, body, headers)
  const untilStatus = (service_id: string, status: string) =>
    until(
      async () => {
        const answer = await call('GET', `${services}/${service_id}`, undefined, at_rest.has(status) ? waiting : {})
        const found = status === 'removed' ? answer.status === 404 : answer.body.status === status
        return found ? answer : undefined
      },
      { what: `service ${service_id} is ${status}` },
    )
  const installation: TestInstallation = {
    get server() {
      if (server === undefined) throw new Error('the installation has been stopped')
      return server
    },
    config,
    token,
    project_id,
    services,
    call,
    untilStatus,
    eventsOf: async (service_id) => (await call<TestEvent[]>('GET', `${services}/${service_id}/events`)).body,
    createService: async (input = {}) => {
      const answer = await call('POST', services, { name: 'test', ...input })
      if (answer.status !== 202) throw new Error(`create answered ${answer.status}: ${JSON.stringify(answer.body)}`)
      await untilStatus(answer.body.service_id, 'READY')
      return answer.body as ReadyService // the contract's own answer to a create
    },
    restart: async () => {
      await server?.close()
      server = await start()
    },
    stop: async () => {
      const running = server
      server = undefined
      try {
        await running?.close()
      } finally {
        await removeDataDir(config.data_dir)
      }
    },
  }
  return installation
}
