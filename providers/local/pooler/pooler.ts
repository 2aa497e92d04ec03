// The connection pooler of a service or a replica set, from top to bottom: its role in PostgreSQL, its files, its process,
// and a login at its endpoint as a client makes it. Settings that PgBouncer can read again while it runs never restart it.
//
// 1. No settings file, no process: the file is written before the first start and removed after the last stop.
// 2. It finds the primary in one socket folder, whichever node that is, so a failover does not concern it.
// 3. A pass that makes its clients wait writes a file first; any later pass lets them go on.
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Endpoint, ObservedEvent, Size } from '../../provider.ts'
import { isStopped } from '../../host/daemon.ts'
import { ensureFile, ensureFolder, ensureRemoved } from '../host/effect.ts'
import { readIfThere, statIfThere } from '../../host/read.ts'
import type { Node } from '../host/layout.ts'
import { ensureGroupRemoved } from '../host/leftovers.ts'
import type { Machine } from '../host/machine.ts'
import {
  killPooler,
  ensurePoolerLogBounded,
  findPooler,
  poolerGroupOf,
  poolerLogSince,
  signalPooler,
  startPooler,
} from './process.ts'
import { findPgBouncer, hasPgBouncer, type PoolerProgram } from './program.ts'
import { ensurePoolerRole } from './role.ts'
import { poolerSettingsOf, poolerUsersOf } from '../../postgres/pooler-settings.ts'
import { loginTroubleOf } from '../../postgres/probe.ts'
import { portTrouble } from '../postgres/port.ts'
import { ensureInNetwork, isInNetwork, type NetworkHost, networkPrefix, probeAt } from '../network/service-network.ts'
import { hashOf } from '../postgres/settings.ts'
import { withSuperuser } from '../postgres/superuser.ts'
import { tenantSetbackOf } from '../postgres/tenant-setback.ts'
import { poolerFilesOf } from './files.ts'
import type { Authority } from '../../postgres/certificate.ts'

type PoolerHost = Machine & NetworkHost & { authority: Authority }

export type PoolerSpec = {
  /** Of the service or the replica set: its home, user and certificate. */
  node: Node
  /** The primary, where the pooler's role is made. */
  primary: Node
  target_sockets: string
  target_port: number
  listen: Endpoint
  size: Size
  /** Of the PostgreSQL that it leads to. */
  max_connections: number
  password_verifier: string
  /** In which it listens; absent: in the host's. */
  vpc_id?: string | undefined
}

export type ObservedPooler = {
  serving: boolean
  /** A sentence for people, when it does not serve. */
  waiting_for?: string
  look_again_seconds?: number
  events: readonly ObservedEvent[]
}

/** More than the clients of the largest size need; where the host allows less, less. */
const files_max = 65_536
const look_again_soon_seconds = 1
const look_again_after_setback_seconds = 3
const reload_wait_ms = 3_000
const pause_wait_ms = 3_000
const poll_every_ms = 10

/** What is missing on this host for a pooler, and how to get it. */
export async function poolerRefusal(): Promise<string | undefined> {
  if (await hasPgBouncer()) return undefined
  return 'the connection pooler needs PgBouncer, which this host does not have; install it with apt-get install pgbouncer'
}

/** The primary must be serving. */
export async function ensurePooler(host: PoolerHost, spec: PoolerSpec): Promise<ObservedPooler> {
  const program = await findPgBouncer()
  if (program === undefined) return setback((await poolerRefusal()) ?? '', look_again_after_setback_seconds)
  const { node } = spec
  const events: ObservedEvent[] = []
  const running = await ensureRunning(host, spec, program, events)
  if (typeof running === 'string') return { ...setback(running, look_again_after_setback_seconds), events }
  host.watch.track(watchedAs(node), running)
  await ensureResumed(host, node)
  await ensurePoolerLogBounded(host.effect, node)
  const waiting_for = await loginTrouble(host, spec)
  // After SIGSTOP; a pooler that only waits for PostgreSQL goes on.
  if (waiting_for !== undefined && isStopped(running)) {
    await killPooler(host.effect, node)
    events.push({ kind: 'restarted', message: 'the connection pooler did not answer any more and is started again' })
    return { ...setback(waiting_for, 0), events }
  }
  return {
    ...(waiting_for === undefined ? { serving: true } : setback(waiting_for, look_again_soon_seconds)),
    events,
  }
}

export async function ensurePoolerRemoved(host: PoolerHost, node: Node): Promise<void> {
  host.watch.forget(watchedAs(node))
  const files = poolerFilesOf(node)
  if ((await statIfThere(files.settings)) === undefined) return
  await killPooler(host.effect, node)
  await host.effect('pooler: limits removed')
  await ensureGroupRemoved(host, poolerGroupOf(node))
  for (const path of [files.paused, files.loaded, files.log, files.users, files.folder, files.settings]) {
    await ensureRemoved(host.effect, 'pooler', path)
  }
}

/**
 * Makes clients wait from the end of their transactions on, until they are resumed: a planned restart of PostgreSQL is then
 * a pause for them. Clients of the session database own their connection and lose it.
 */
export async function pausePooler(host: PoolerHost, primary: Node): Promise<void> {
  const said_before = (await statIfThere(poolerFilesOf(primary).log))?.size ?? 0
  if (!(await ensurePaused(host, primary))) return
  const deadline = performance.now() + pause_wait_ms
  while (performance.now() < deadline && !(await poolerLogSince(primary, said_before)).includes('SIGUSR1')) {
    await pause(poll_every_ms)
  }
  // Open transactions may finish; a primary that cannot be asked has none to wait for.
  await untilIdle(primary, deadline).catch(() => undefined)
}

/** For a lost primary: its clients have no transaction left to finish, and wait for the next primary. False: no pooler runs. */
export async function ensurePaused(host: PoolerHost, primary: Node): Promise<boolean> {
  const { pid } = await findPooler(primary)
  if (pid === undefined) return false
  await ensureFile(host.effect, 'pooler pause', poolerFilesOf(primary).paused, String(pid), undefined)
  await signalPooler(host.effect, primary, pid, 'SIGUSR1')
  return true
}

/** As soon as the primary takes writes. Costs a read of one file when no client waits. */
export async function ensureResumed(host: PoolerHost, node: Node): Promise<void> {
  const { paused } = poolerFilesOf(node)
  if ((await statIfThere(paused)) === undefined) return
  const { pid } = await findPooler(node)
  if (pid !== undefined) await signalPooler(host.effect, node, pid, 'SIGUSR2')
  await ensureRemoved(host.effect, 'pooler pause', paused)
}

/** The id of a process that listens as wanted and has read the wanted settings; a sentence when there is none. */
async function ensureRunning(
  host: PoolerHost,
  spec: PoolerSpec,
  program: PoolerProgram,
  events: ObservedEvent[],
): Promise<number | string> {
  const { effect, limits } = host
  const { node, listen, vpc_id } = spec
  const no_network = await ensureInNetwork(host, vpc_id, listen)
  if (no_network !== undefined) return no_network
  const files = poolerFilesOf(node)
  const paths = { certificate: node.certificate, pid_file: join(files.folder, files.pid_name), users_file: files.users }
  const settings = poolerSettingsOf({ ...spec, ...program, ...paths })
  const users = poolerUsersOf(spec.password_verifier)
  // One of another version might not understand the settings.
  const start_hash = hashOf([program.version, listen.host, String(listen.port)])
  const read_hash = hashOf([settings, users, (await readIfThere(node.certificate)) ?? ''])
  const found = await findPooler(node)
  const [pid, started_with, has_read] = (await readIfThere(files.loaded))?.split(' ') ?? []
  const in_place = found.pid !== undefined && (await isInNetwork(host, vpc_id, found.pid))
  const usable = in_place && pid === String(found.pid) && started_with === start_hash ? found.pid : undefined
  await effect('pooler: limits')
  await limits.ensure(poolerGroupOf(node), spec.size)
  const trouble = await ensurePoolerRole(effect, spec.primary, events).then(
    () => undefined,
    (error: unknown) => {
      const setback_of_tenant = tenantSetbackOf(error)
      // A running pooler has the role already; replicas serve on while their primary is unreachable.
      if (!setback_of_tenant && usable === undefined) throw error
      return setback_of_tenant?.message
    },
  )
  if (trouble !== undefined) return trouble
  if (usable !== undefined && has_read === read_hash) return usable
  await ensureFile(effect, 'pooler users', files.users, users, node.owner)
  await ensureFile(effect, 'pooler settings', files.settings, settings, node.owner)
  await ensureFolder(effect, 'pooler folder', files.folder, 0o700, node.owner)
  if (usable !== undefined) await signalPooler(effect, node, usable, 'SIGHUP')
  const running = usable ?? (await startAnew(host, spec, program.path))
  if (typeof running === 'string') return running
  if (found.died) {
    events.push({ kind: 'restarted', message: 'the connection pooler died and was started again' })
  }
  // Written last: after a kill before it the next pass reloads or starts the pooler once more.
  await ensureFile(effect, 'pooler marker', files.loaded, `${running} ${start_hash} ${read_hash}`, undefined)
  return running
}

async function startAnew(host: PoolerHost, spec: PoolerSpec, program: string): Promise<number | string> {
  const { effect, limits } = host
  const { node, listen, vpc_id } = spec
  await killPooler(effect, node)
  await ensureRemoved(effect, 'pooler pause', poolerFilesOf(node).paused)
  const taken = await portTrouble(listen, vpc_id, 'the pooler')
  if (taken !== undefined) return taken
  return await startPooler(effect, node, { program, prefix: networkPrefix(host, vpc_id), files_max, limits })
}

/** Why the master role cannot log in at the pooler's endpoint; undefined when it can. */
async function loginTrouble(host: PoolerHost, spec: PoolerSpec): Promise<string | undefined> {
  const { listen: endpoint, password_verifier, vpc_id } = spec
  const authority_pem = host.authority.certificate_pem
  const tried = () => probeAt(host, vpc_id, { endpoint, password_verifier, authority_pem })
  let login = await tried()
  // It reads its files a moment after the signal.
  for (
    const deadline = performance.now() + reload_wait_ms;
    login.result === 'other_password' && performance.now() < deadline;
  ) {
    await pause(poll_every_ms)
    login = await tried()
  }
  // It has as many clients as it may have: it serves them.
  if (login.result === 'failed' && /max_(db_)?client_conn/.test(login.reason)) return undefined
  return loginTroubleOf(login, `the pooler, ${endpoint.host}:${endpoint.port},`)
}

/** A session at the unix socket that is not the control plane's is the pooler's. */
async function untilIdle(primary: Node, deadline: number): Promise<void> {
  await withSuperuser(primary, {}, async (client) => {
    while (performance.now() < deadline) {
      const { rowCount } = await client.query(
        `select from pg_catalog.pg_stat_activity
         where backend_type = 'client backend' and client_addr is null and usename <> 'postgres' and state <> 'idle'`,
      )
      if (!rowCount) return
      await pause(poll_every_ms)
    }
  })
}

const watchedAs = (node: Node) => `${node.service_id}/pooler`

function setback(waiting_for: string, look_again_seconds: number): ObservedPooler {
  return { serving: false, waiting_for, look_again_seconds, events: [] }
}
