// What the provider tests share: a provider below a fresh directory, wanted services, and logins as a customer makes
// them. Whatever a test leaves running is stopped and removed, also after a failure.
import { mkdtemp, readFile, readdir, readlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { openLocalProvider, type LocalOptions, type LocalProvider } from '#providers/local/local.ts'
import type { ObservedService, WantedService } from '#providers/provider.ts'
import { removeProvider } from '#test/data-dir.ts'
import { newServicePorts, type Ports } from '#test/ports.ts'
import { newInstallationId } from '#test/run/traces.ts'
import { seedProvider } from '#test/seed.ts'
import { newEndpoint } from '#test/addresses.ts'
import { pidIn } from '#test/traces.ts'
import { until } from '#test/until.ts'
import { wantedAt } from './wanted.ts'

export type World = {
  directory: string
  installation_id: string
  ports: Ports
  /** Another provider over the same directory, as after a restart of the server. */
  open(options?: Partial<LocalOptions>): Promise<LocalProvider>
  /** All that were opened, also those that are closed already. */
  close(): Promise<void>
}

export const as_root = process.getuid?.() === 0

/** Fresh worlds for the tests of one file. Building PostgreSQL's template is a second's work: they get a copy. */
export function useWorlds() {
  const newWorld = async (below?: string): Promise<World> => {
    const world = await emptyWorld(below)
    onTestFinished(() => removeWorld(world))
    await seedProvider(world.directory)
    return world
  }
  /** A service that holds, in a world of its own. */
  const newService = async (parts: Partial<WantedService> = {}) => {
    const world = await newWorld()
    const provider = await world.open()
    const wanted = await newWanted(provider, parts)
    await settle(provider, wanted)
    return { world, provider, wanted }
  }
  return { newWorld, newService }
}

/** As the first provider of this process has found them: whether PostgreSQL's programs run here is the same for all of them. */
let installations: LocalOptions['installations']

async function emptyWorld(below = tmpdir()): Promise<World> {
  const directory = await mkdtemp(join(below, 'howdah-p-'))
  const installation_id = newInstallationId()
  const ports = newServicePorts()
  const opened: LocalProvider[] = []
  const open = async (options: Partial<LocalOptions> = {}) => {
    const is_usual = options.postgres_directories === undefined
    const provider = await openLocalProvider({
      directory,
      host: '127.0.0.1',
      ports,
      postgres_directories: [],
      installation_id,
      log: () => undefined,
      spares: 0,
      ...(is_usual && installations && { installations }),
      ...options,
    })
    if (is_usual) installations ??= provider.installations
    opened.push(provider)
    return provider
  }
  const close = async () => void (await Promise.all(opened.map((provider) => provider.close())))
  return { directory, installation_id, ports, open, close }
}

async function removeWorld(world: World): Promise<void> {
  await world.close()
  await removeProvider(world.directory, world.installation_id)
}

export async function newWanted(provider: LocalProvider, parts: Partial<WantedService> = {}): Promise<WantedService> {
  return wantedAt(parts.home ?? (await newEndpoint(provider)), parts)
}

/** Applies until everything holds, as the reconciler does. What happened on the way comes along. */
export async function settle(provider: LocalProvider, wanted: WantedService): Promise<ObservedService> {
  const events: ObservedService['events'][number][] = []
  let last: ObservedService | undefined
  return await until(
    async () => {
      last = await provider.service.apply(wanted)
      events.push(...last.events)
      return last.settled && { ...last, events }
    },
    { what: `service ${wanted.service_id} settles` },
  ).catch((error: unknown) => {
    throw new Error(`not settled: ${JSON.stringify(last)}`, { cause: error })
  })
}

export type Login = {
  user?: string
  password?: string
  database?: string
  tls?: boolean
  /** Settings of the session, as in `-c role=none`. */
  options?: string
}

export async function loginTo(provider: LocalProvider, wanted: WantedService, login: Login = {}): Promise<pg.Client> {
  const client = new pg.Client({
    ...wanted.reach,
    user: login.user ?? 'tsdbadmin',
    password: login.password ?? 'first password',
    database: login.database ?? 'tsdb',
    connectionTimeoutMillis: 60_000,
    ...(login.options !== undefined && { options: login.options }),
    ...(login.tls === false ? { ssl: false } : { ssl: { ca: provider.authority_pem } }),
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
  return client
}

/** One value of one query by one login. */
export async function ask(
  provider: LocalProvider,
  wanted: WantedService,
  sql: string,
  login: Login = {},
): Promise<string> {
  const client = await loginTo(provider, wanted, login)
  try {
    const { rows } = await client.query<string[]>({ text: sql, rowMode: 'array' })
    return String(rows[0]?.[0])
  } finally {
    await client.end()
  }
}

export async function postmasterPid(world: World, wanted: WantedService): Promise<number> {
  const path = join(world.directory, 'services', wanted.service_id, 'data', 'postmaster.pid')
  return pidIn(await readFile(path, 'utf8'))
}

/** Waits until no process works below a folder: the log collector is the last to go, a moment after its postmaster. */
export async function noProcessBelow(folder: string): Promise<void> {
  await until(async () => (await processesBelow(folder)).length === 0, { what: `no process is below ${folder}` })
}

export async function processesBelow(folder: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const places = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')))
  return pids.filter((_, at) => places[at]?.startsWith(folder))
}
