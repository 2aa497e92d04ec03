// Every setting of the server, as one table. Flags, environment variables, `--help` and the README's table all come
// from it. A wrong configuration is refused with one message that lists everything that is wrong.
import { parseArgs } from 'node:util'
import { messageOf } from '#providers/host/message.ts'
import { parseBackupTarget } from './backup-target.ts'
import { parseRegionFile } from './region-file.ts'
import {
  dataDirectoryOf,
  type Environment,
  log_levels,
  parseDatabaseUrl,
  parseDirectories,
  parseDirectory,
  parseEmail,
  parseGroups,
  parseHost,
  parseIssuer,
  parseLogLevel,
  parseLogRetention,
  parseNetworks,
  parseOnOrOff,
  parseOptional,
  parseOrigin,
  parsePorts,
  parseRegion,
  parseServiceHost,
  parseSnapshots,
  parseUndelete,
  parseVpcRanges,
  parseYesOrNo,
  wholeNumber,
} from './setting-value.ts'

export type { Environment }

/** How long a stopping server finishes what it has begun. */
export const shutdown_grace_seconds = 10

/** Refused settings; the message is for the operator. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

const table = {
  host: {
    default: '127.0.0.1',
    description: 'Address on which the API listens. Any address but loopback opens it to the network.',
    parse: parseHost,
  },
  port: { default: '8080', description: 'Port of the API; 0 takes a free one.', parse: wholeNumber(0, 65535) },
  data_dir: {
    default: '/var/lib/howdah as root, else ~/.local/share/howdah',
    description: 'Where everything lives: the databases, the certificates, the embedded store.',
    parse: parseDirectory,
    fallback: dataDirectoryOf,
  },
  database_url: {
    env: 'DATABASE_URL',
    default: '',
    description: 'PostgreSQL to use as the metadata store; empty: an embedded one in the data directory.',
    parse: parseDatabaseUrl,
  },
  region: {
    default: 'local',
    description:
      'The region code of this machine. Servers of several regions can share one store; each works for its own region.',
    parse: parseRegion,
  },
  regions: {
    default: '',
    description:
      'A JSON file that lists the regions of this server, each with its region_code and its provider (local, kubernetes or memory); empty: this machine is the one region.',
    parse: parseRegionFile,
  },
  service_host: {
    default: '127.0.0.1',
    description: 'Address or host name on which the databases listen, and which clients are told.',
    parse: parseServiceHost,
  },
  service_ports: { default: '20000-29999', description: 'Ports for the databases.', parse: parsePorts },
  postgres_directories: {
    default: '',
    description: 'More PostgreSQL installations (folders with a bin folder), separated by colons.',
    parse: parseDirectories,
  },
  vpc_ranges: {
    default: '10.64.0.0/10',
    description:
      'Private networks, separated by commas, in which the ranges of VPCs lie. As root the server bars this host’s own way to a VPC’s range, so name only what neither the host nor its clients use.',
    parse: parseVpcRanges,
  },
  snapshots: {
    default: '24h,7',
    description:
      'How often a service is snapshot (s, m, h or d), and how many such snapshots are kept; recovery begins at the oldest.',
    parse: parseSnapshots,
  },
  undelete: {
    default: '24h',
    description: 'How long a deleted service is kept (s, m, h or d), so that it can be restored. 0: not at all.',
    parse: parseUndelete,
  },
  backup_to: {
    default: '',
    description:
      'Where backups go: file:///mnt/nas/howdah or s3://bucket/prefix?endpoint=https://…; empty: there are none. See docs/backups.md.',
    parse: parseBackupTarget,
  },
  backup_lag: {
    default: '60',
    description: 'Seconds within which WAL reaches the backup; when it is later, an event and a metric say so.',
    parse: wholeNumber(10, 86_400),
  },
  aws_access_key_id: {
    flag: false,
    env: 'AWS_ACCESS_KEY_ID',
    default: '',
    description: 'The key id at the S3 server of the backups.',
    parse: parseOptional,
  },
  aws_secret_access_key: {
    flag: false,
    env: 'AWS_SECRET_ACCESS_KEY',
    default: '',
    description: 'The secret that belongs to it. No flag: other users of this machine see flags.',
    parse: parseOptional,
  },
  disk_quota: {
    default: '10',
    description:
      'GB of disk that a service may take for each GB of its memory, with data, WAL and archive; a shared service counts as 1 GB. 0: no quotas.',
    parse: wholeNumber(0, 100_000),
  },
  log_retention: {
    default: '7d,1024MB',
    description: 'How long and how much of the log of a database is kept; whichever limit is met first counts.',
    parse: parseLogRetention,
  },
  rate_limit: {
    default: '100',
    description:
      'Requests a second that one caller may send for long, five times as many at once; ten times as many from one address, a tenth without a valid credential. 0: no limits.',
    parse: wholeNumber(0, 1_000_000),
  },
  trusted_proxies: {
    default: '',
    description:
      'Addresses or networks of reverse proxies, separated by commas, whose X-Forwarded-For names the caller’s address.',
    parse: parseNetworks,
  },
  public_url: {
    default: 'http://host:port',
    description:
      'Where browsers reach this server: scheme, host and port. Several servers behind one address share it.',
    parse: parseOrigin,
    fallback: () => '',
  },
  oidc_issuer: {
    default: '',
    description: 'An OpenID Connect issuer at which people log in; empty: they log in here, with a password.',
    parse: parseIssuer,
  },
  oidc_client_id: {
    default: '',
    description: 'What that issuer calls Howdah. Its redirect URI is <public URL>/oauth/external/callback.',
    parse: parseOptional,
  },
  oidc_client_secret: {
    flag: false,
    default: '',
    description: 'The client’s secret at that issuer, if it has one. No flag: other users of this machine see flags.',
    parse: parseOptional,
  },
  oidc_groups: {
    default: '',
    description: 'Groups there that make members here: group=project_id:role, separated by commas.',
    parse: parseGroups,
  },
  admin_email: {
    default: 'admin@howdah.local',
    description: 'The address that the first user logs in with; read by the very first start alone.',
    parse: parseEmail,
  },
  sql_api: {
    default: 'on',
    description: 'off: no SQL statement runs through the API, for any role.',
    parse: parseOnOrOff,
  },
  mcp_registration: {
    default: 'off',
    description:
      'on: programs of agents may register themselves, or name a document on the internet that describes them, so that they need not be known beforehand; their users agree to each login.',
    parse: parseOnOrOff,
  },
  isolate: {
    flag: false,
    default: 'no',
    description:
      'yes: the server starts only where each database gets a user of its own, as with howdah start --isolate.',
    parse: parseYesOrNo,
  },
  log_level: { default: 'info', description: `One of ${log_levels.join(', ')}.`, parse: parseLogLevel },
} satisfies Record<string, Row<unknown>>

export type Config = { [Name in keyof typeof table]: ReturnType<(typeof table)[Name]['parse']> }

export type Setting = { name: string; flag: string | undefined; env: string; default: string; description: string }

export const settings: readonly Setting[] = Object.entries<Row<unknown>>(table).map(([name, row]) => ({
  name,
  flag: row.flag === false ? undefined : flagOf(name),
  env: row.env ?? `HOWDAH_${name.toUpperCase()}`,
  default: row.default,
  description: row.description,
}))

export const setting_flags: readonly string[] = settings.flatMap(({ flag }) => flag ?? [])

/** A flag wins over the environment; an empty environment variable counts as not given. */
export function loadConfig(argv: readonly string[], env: Environment): Config {
  const { flags, problems } = parseFlags(argv)
  const config: Record<string, unknown> = {}
  for (const setting of settings) {
    const row: Row<unknown> = table[setting.name as keyof Config] // settings is made from the table's own keys
    const flag = setting.flag && flags.get(setting.flag)
    const variable = env[setting.env] === '' ? undefined : env[setting.env]
    const text = flag ?? variable ?? row.fallback?.(env) ?? row.default
    try {
      config[setting.name] = row.parse(text)
    } catch (error) {
      const source = (flag !== undefined && setting.flag) || setting.env
      problems.push(`${source} ${messageOf(error)}`)
    }
  }
  if (problems.length > 0) {
    throw new ConfigError(`the settings are not right:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
  }
  return config as Config // each row's parse has just made its member
}

/** For `--help`: one setting a paragraph. */
export function settingsHelp(): string {
  const width = Math.max(...settings.map((setting) => setting.flag?.length ?? 0))
  return settings
    .map((setting) => {
      const indent = ' '.repeat(width + 4)
      const lines = [setting.description, `${setting.env}; default: ${setting.default || 'none'}`]
      return `  ${(setting.flag ?? '').padEnd(width)}  ${lines.join(`\n${indent}`)}`
    })
    .join('\n')
}

type Row<T> = {
  env?: string
  /** Only by its environment variable. */
  flag?: false
  /** As text, for people too. */
  default: string
  description: string
  /** Throws a problem that reads on after the setting's name. */
  parse(text: string): T
  /** The default where it depends on the user. */
  fallback?(env: Environment): string
}

function flagOf(name: string): string {
  return `--${name.replaceAll('_', '-')}`
}

function parseFlags(argv: readonly string[]): { flags: Map<string, string>; problems: string[] } {
  const flags = new Map<string, string>()
  const problems: string[] = []
  const options = Object.fromEntries(setting_flags.map((flag) => [flag.slice(2), { type: 'string' as const }]))
  for (const token of parseArgs({ args: [...argv], options, strict: false, tokens: true }).tokens) {
    if (token.kind === 'positional') problems.push(`${JSON.stringify(token.value)} is not a setting; see --help`)
    if (token.kind !== 'option') continue
    if (!(token.name in options)) problems.push(`${token.rawName} is not a setting; see --help`)
    else if (token.value === undefined) problems.push(`${token.rawName} needs a value`)
    else flags.set(token.rawName, token.value)
  }
  return { flags, problems }
}
