// The settings of one PostgreSQL server, derived from its size and its role in the service. Pure: the same spec gives the
// same text, and its hash tells whether a running server was started with it. The text holds no secret.
import { createHash } from 'node:crypto'
import type { Endpoint, Size } from '../../provider.ts'
import { archiveSettings, shellPath } from './archive-settings.ts'
import { type Node } from '../host/layout.ts'
import { fixed_settings, log_settings } from '../../postgres/fixed-settings.ts'
import { preloadSettings, type Preload } from '../../postgres/preloads.ts'
import { sizeSettings, type Values } from '../../postgres/size.ts'
import { copy_role_prefix, master_database, pooler_role, standby_role } from '../../postgres/names.ts'

export type SettingsSpec = {
  size: Size
  /** Absent: it is reached by its unix socket only. */
  endpoint?: Endpoint | undefined
  node: Node
  /** Which primary it follows, and as whom; absent: it is no standby. */
  following?: Following | undefined
  /** Lower bounds, to replay the WAL of a server that had so much. */
  floor?: Floor | undefined
  major: number
  /** Libraries with which it starts: see preloads.ts. */
  preloads?: readonly Preload[] | undefined
  /** Of every server of its installation. */
  of_installation?: Readonly<Record<string, string>> | undefined
  /** Whether the installation has PostgreSQL's own module for archiving. */
  archive_module: boolean
  host_memory_mb: number
  log_rotation_mb: number
  /** How much of the disk the service may take; absent: there is no quota. */
  disk_quota_bytes?: number | undefined
}

/** `slot`: by which its primary keeps WAL for it. */
export type Following = { primary: Node; name: string; slot?: string | undefined }

/** The settings that must not be lower on a standby than they were on its primary. */
export type Floor = Partial<Record<(typeof floored)[number], number>>

export const floored = [
  'max_connections',
  'max_worker_processes',
  'max_wal_senders',
  'max_prepared_transactions',
  'max_locks_per_transaction',
] as const

/** Of the disk quota, for the temporary files of one session: an index over most of the data can be built. */
const temp_file_share = 0.5

export function settingsOf(spec: SettingsSpec): string {
  const { size, host_memory_mb, preloads = [], of_installation } = spec
  const values: Values = {
    ...fixed,
    ...preloadSettings(preloads),
    ...of_installation,
    ...locations(spec),
    ...sizeSettings(size, host_memory_mb, preloads),
  }
  const raised = Object.entries(spec.floor ?? {}).filter(([name, least]) => least > Number(values[name] ?? 0))
  const lines = Object.entries({ ...values, ...followed(spec), ...Object.fromEntries(raised) })
  // Which standbys are waited for, and whether there is disk space to write, changes while servers run.
  lines.push(['include_if_exists', spec.node.synchronous], ['include_if_exists', spec.node.writes])
  return `# Written by Howdah; changes made here are undone at the next look.\n${lines.map(lineOf).join('\n')}\n`
}

/**
 * Who may connect: the control plane by its operating-system user, all others by TLS and SCRAM. The two roles without a
 * password are let in only at sockets of the service's own user, whose folders are closed to all other users.
 *
 * The word `replication` means physical replication only. A connection with `replication=database`, which can copy a whole
 * cluster as well, is let in like any other to that database: tenants cannot make one because no role of theirs has
 * REPLICATION, and the roles that have it may not connect to a database by TCP. A role that a copy in another region has, for as long
 * as it is made, may replicate by TLS and SCRAM and do nothing else; a tenant's role of such a name has no REPLICATION.
 */
export function hbaOf(): string {
  const copies = `/^${copy_role_prefix}`
  return [
    'local all postgres peer map=howdah',
    'local replication postgres peer map=howdah',
    `local replication ${standby_role} trust`,
    `local ${master_database} ${pooler_role} trust`,
    `local all,replication ${standby_role},${pooler_role},${copies} reject`,
    'local replication all reject',
    'local all all scram-sha-256',
    `hostssl replication ${copies} all scram-sha-256`,
    `hostssl all,replication postgres,${standby_role},${pooler_role},${copies} all reject`,
    'hostssl replication all all reject',
    'hostssl all all all scram-sha-256',
    '',
  ].join('\n')
}

/** The same, in as many bytes, while the service is shut: only the control plane and standbys may connect. */
export function shutHbaOf(): string {
  return hbaOf().replaceAll(
    /^((?:local|hostssl) +all +all +.*?)(\S+)$/gm,
    (_, clients: string, method: string) => clients + 'reject'.padEnd(method.length),
  )
}

export function identOf(control_plane_user: string): string {
  return `howdah "${control_plane_user}" postgres\n`
}

/** Whether a server of this size has more of something than a standby with this floor can follow. */
export function rises(size: Size, floor: Floor, preloads: readonly Preload[]): boolean {
  const values: Values = sizeSettings(size, 0, preloads)
  return floored.some((name) => Number(values[name] ?? 0) > (floor[name] ?? Infinity))
}

/** Short enough for a command line, and equal only for equal texts. */
export function hashOf(texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16)
}

const fixed = {
  ssl: 'on',
  ...fixed_settings,
  default_text_search_config: 'pg_catalog.english',
  wal_level: 'replica',
  // Five standbys that can take over and four sets of ten that read; and copies of them all, at one time.
  max_wal_senders: 50,
  max_replication_slots: 60,
  // PostgreSQL's own default, but fixed here: else a server would have other settings as a standby than as a primary.
  max_locks_per_transaction: 64,
  max_prepared_transactions: 0,
  // However many connections tenants take: the control plane's sessions, some of which last as long as a copy, and the
  // pooler's lookups.
  superuser_reserved_connections: 8,
  reserved_connections: 2,
  // A standby that is unreachable for long must not fill the disk; it can catch up from the archive all the same.
  max_slot_wal_keep_size: '2GB',
  // A commit may be waiting for a hung standby.
  wal_sender_timeout: '5s',
  // Recovery begins with making everything durable: at once, instead of file by file.
  recovery_init_sync_method: 'syncfs',
  // A client that vanished, or whose network is unreachable, holds its locks for two minutes, not for hours.
  tcp_keepalives_idle: 60,
  tcp_keepalives_interval: 10,
  tcp_keepalives_count: 6,
  jit: 'off',
  // Idle services cost next to nothing: fewer wake-ups, no worker processes that wait for work. The rare writer writes more.
  wal_writer_delay: '2s',
  bgwriter_delay: '2s',
  bgwriter_lru_maxpages: 400,
  logging_collector: 'on',
  log_destination: 'jsonlog',
  log_filename: 'postgresql-%Y%m%d-%H%M%S.log',
  log_file_mode: '0600',
  log_rotation_age: '1d',
  ...log_settings,
} satisfies Values

function locations({
  endpoint,
  node,
  following,
  major,
  archive_module,
  log_rotation_mb,
  ...spec
}: SettingsSpec): Values {
  const { disk_quota_bytes } = spec
  return {
    ...(disk_quota_bytes && { temp_file_limit: `${Math.floor((disk_quota_bytes * temp_file_share) / 1024)}kB` }),
    ...archiveSettings(node, archive_module),
    log_rotation_size: `${log_rotation_mb}MB`,
    // One line a login; older versions cannot leave out connections without one, which a balancer makes every few seconds.
    log_connections: major >= 18 ? 'authorization' : readsOnly(following) ? 'off' : 'on',
    // Known from PostgreSQL 18 on, where the default keeps three processes waiting in every idle service.
    ...(major >= 18 ? { io_method: 'sync' } : {}),
    listen_addresses: endpoint?.host ?? '',
    port: endpoint?.port ?? node.port,
    unix_socket_directories: node.sockets,
    hba_file: node.hba,
    ident_file: node.ident,
    ssl_cert_file: node.certificate,
    ssl_key_file: node.certificate,
    log_directory: node.log,
  }
}

/** A node of a replica set: it never takes over, so no slot keeps WAL for it. */
const readsOnly = (following: Following | undefined) => following !== undefined && following.slot === undefined

function followed({ following, node }: SettingsSpec): Values {
  if (following === undefined) return {}
  const { primary, name, slot } = following
  // Copies, not links: PostgreSQL writes into the file when it is done with it. What is not there costs no process beside the shell,
  // because a replica whose primary is away asks twenty times a second.
  const archived = copiesIfThere(`${primary.archive}/%f`)
  const from_tail = `[ -d ${shellPath(node.tail)} ] && touch ${shellPath(`${node.tail}/asked`)} && ${copiesIfThere(`${node.tail}/%f`)}`
  const restored = slot === undefined ? archived : `${archived} || { ${from_tail}; }`
  const address = { host: primary.service_sockets, port: primary.port, user: standby_role, application_name: name }
  return {
    primary_conninfo: Object.entries(address)
      .map(([key, value]) => `${key}='${String(value).replaceAll(/['\\]/g, '\\$&')}'`)
      .join(' '),
    // A replica that takes over reads the WAL of the lost primary too (ha/wal-tail.ts), and marks that it has read the folder.
    restore_command: `{ ${restored}; } 2>/dev/null`,
    wal_retrieve_retry_interval: '100ms',
    ...(slot === undefined ? {} : { primary_slot_name: slot }),
  }
}

function copiesIfThere(path: string): string {
  return `[ -e ${shellPath(path)} ] && cp ${shellPath(path)} "%p"`
}

function lineOf([name, value]: [string, string | number]): string {
  return `${name} = '${String(value).replaceAll("'", "''")}'`
}
