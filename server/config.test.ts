// Table tests of the settings: defaults, flags, variables, refusals.
import { expect, test } from 'vitest'
import { ConfigError, loadConfig, settings, settingsHelp } from './config.ts'

const home = { HOME: '/home/somebody' }

test('without flags and variables every setting has its default', () => {
  const as_root = process.getuid?.() === 0
  expect(loadConfig([], home)).toEqual({
    host: '127.0.0.1',
    port: 8080,
    data_dir: as_root ? '/var/lib/howdah' : '/home/somebody/.local/share/howdah',
    database_url: undefined,
    region: 'local',
    service_host: '127.0.0.1',
    service_ports: { first: 20000, last: 29999 },
    postgres_directories: [],
    vpc_ranges: ['10.64.0.0/10'],
    snapshots: { interval_seconds: 86_400, kept: 7 },
    backup_to: undefined,
    backup_lag: 60,
    aws_access_key_id: undefined,
    aws_secret_access_key: undefined,
    disk_quota: 10,
    log_retention: { days: 7, mb: 1024 },
    rate_limit: 100,
    trusted_proxies: [],
    public_url: undefined,
    oidc_issuer: undefined,
    oidc_client_id: undefined,
    oidc_client_secret: undefined,
    oidc_groups: [],
    admin_email: 'admin@howdah.local',
    sql_api: 'on',
    mcp_registration: 'off',
    undelete: 86_400,
    isolate: false,
    log_level: 'info',
  })
})

const accepted: [flag: string, text: string, member: string, value: unknown][] = [
  ['--host', '0.0.0.0', 'host', '0.0.0.0'],
  ['--host', '::1', 'host', '::1'],
  ['--port', '0', 'port', 0],
  ['--port', '65535', 'port', 65535],
  ['--data-dir', '/srv/../srv/howdah', 'data_dir', '/srv/howdah'],
  ['--database-url', 'postgres://me@127.0.0.1/howdah', 'database_url', 'postgres://me@127.0.0.1/howdah'],
  ['--region', 'eu-1', 'region', 'eu-1'],
  ['--snapshots', '90m,1', 'snapshots', { interval_seconds: 5400, kept: 1 }],
  ['--disk-quota', '0', 'disk_quota', 0],
  ['--log-retention', '30d,10MB', 'log_retention', { days: 30, mb: 10 }],
  ['--service-host', 'db.example.com', 'service_host', 'db.example.com'],
  ['--service-ports', '1024-1024', 'service_ports', { first: 1024, last: 1024 }],
  ['--postgres-directories', '/a:/b/c', 'postgres_directories', ['/a', '/b/c']],
  ['--vpc-ranges', '10.64.0.0/10, 172.20.0.0/16', 'vpc_ranges', ['10.64.0.0/10', '172.20.0.0/16']],
  ['--rate-limit', '0', 'rate_limit', 0],
  ['--trusted-proxies', '127.0.0.1, 10.0.0.0/8,::1', 'trusted_proxies', ['127.0.0.1', '10.0.0.0/8', '::1']],
  ['--public-url', 'https://howdah.example.com/', 'public_url', 'https://howdah.example.com'],
  ['--public-url', 'http://127.0.0.1:9000', 'public_url', 'http://127.0.0.1:9000'],
  ['--oidc-issuer', 'https://login.example.com/realm/', 'oidc_issuer', 'https://login.example.com/realm/'],
  ['--oidc-client-id', 'howdah', 'oidc_client_id', 'howdah'],
  [
    '--oidc-groups',
    'dba=a1b2c3d4e5:admin, cn=dev=a1b2c3d4e5:viewer',
    'oidc_groups',
    [
      { group: 'dba', project_id: 'a1b2c3d4e5', role: 'admin' },
      { group: 'cn=dev', project_id: 'a1b2c3d4e5', role: 'viewer' },
    ],
  ],
  ['--admin-email', 'ada@example.com', 'admin_email', 'ada@example.com'],
  ['--sql-api', 'off', 'sql_api', 'off'],
  ['--mcp-registration', 'on', 'mcp_registration', 'on'],
  ['--log-level', 'debug', 'log_level', 'debug'],
]

test.each(accepted)('%s %s is accepted, as a flag and as a variable', (flag, text, member, value) => {
  const env = settings.find((setting) => setting.flag === flag)?.env ?? ''
  expect(loadConfig([flag, text], home)).toHaveProperty(member, value)
  expect(loadConfig([`${flag}=${text}`], home)).toHaveProperty(member, value)
  expect(loadConfig([], { ...home, [env]: text })).toHaveProperty(member, value)
})

const refused: [flag: string, text: string][] = [
  ['--host', 'no such host'],
  ['--host', ''],
  ['--port', '65536'],
  ['--admin-email', 'admin@localhost'],
  ['--admin-email', 'admin@example.1'],
  ['--port', '-1'],
  ['--port', '80a'],
  ['--port', '1e3'],
  ['--data-dir', ' '],
  ['--database-url', 'mysql://127.0.0.1/howdah'],
  ['--region', 'EU 1'],
  ['--service-host', '0.0.0.0'],
  ['--service-host', '::'],
  ['--service-ports', '80-90'],
  ['--service-ports', '30000-20000'],
  ['--service-ports', '20000'],
  ['--postgres-directories', 'here'],
  ['--vpc-ranges', ''],
  ['--vpc-ranges', '10.64.0.0/10,'],
  ['--vpc-ranges', '10.64.0.1/10'],
  ['--vpc-ranges', '10.64.0.0/29'],
  ['--vpc-ranges', '0.0.0.0/0'],
  ['--vpc-ranges', '8.8.0.0/16'],
  ['--rate-limit', '-1'],
  ['--trusted-proxies', 'proxy.example.com'],
  ['--trusted-proxies', '10.0.0.0/33'],
  ['--trusted-proxies', '10.0.0.0/8/8'],
  ['--public-url', 'https://howdah.example.com/below'],
  ['--public-url', 'howdah.example.com'],
  ['--public-url', 'https://user@howdah.example.com'],
  ['--oidc-issuer', 'http://login.example.com'],
  ['--oidc-issuer', 'https://login.example.com/?x'],
  ['--oidc-groups', 'dba=a1b2c3d4e5'],
  ['--oidc-groups', 'dba=a1b2c3d4e5:boss'],
  ['--log-level', 'loud'],
  ['--snapshots', '24h'],
  ['--snapshots', '0s,7'],
  ['--snapshots', '1w,7'],
  ['--disk-quota', '-1'],
  ['--disk-quota', '1.5'],
  ['--log-retention', '7d'],
  ['--log-retention', '0d,1024MB'],
]

test.each(refused)('%s %j is refused by name', (flag, text) => {
  expect(() => loadConfig([`${flag}=${text}`], home)).toThrow(new RegExp(`${flag} must `))
})

test('a flag wins over its variable, and an empty variable counts as not given', () => {
  expect(loadConfig(['--port', '1'], { ...home, HOWDAH_PORT: '2' }).port).toBe(1)
  expect(loadConfig([], { ...home, HOWDAH_PORT: '' }).port).toBe(8080)
})

test('everything that is wrong is said at once', () => {
  const load = () => loadConfig(['--port', 'x', '--colour', 'red', 'surplus'], { ...home, HOWDAH_LOG_LEVEL: 'loud' })
  expect(load).toThrow(ConfigError)
  for (const part of ['--port must', '--colour is not', '"surplus" is not', 'HOWDAH_LOG_LEVEL must']) {
    expect(load).toThrow(part)
  }
})

test('a setting without a flag is taken from its variable, and refused by its name', () => {
  expect(loadConfig([], { ...home, HOWDAH_ISOLATE: 'yes' }).isolate).toBe(true)
  expect(() => loadConfig([], { ...home, HOWDAH_ISOLATE: 'maybe' })).toThrow('HOWDAH_ISOLATE must be yes or no')
})

test('a flag without a value is refused', () => {
  expect(() => loadConfig(['--port'], home)).toThrow('--port needs a value')
})

test('a refused database URL is not repeated, because it may hold a password', () => {
  expect(() => loadConfig(['--database-url', 'mysql://me:hunter2@host/x'], home)).toThrow(/^((?!hunter2)[^])*$/)
})

test('the secret of the outside issuer’s client has a variable and no flag', () => {
  expect(loadConfig([], { ...home, HOWDAH_OIDC_CLIENT_SECRET: 'x' }).oidc_client_secret).toBe('x')
  expect(() => loadConfig(['--oidc-client-secret', 'x'], home)).toThrow('--oidc-client-secret is not a setting')
})

test('there are few settings, each with its flag, variable and description in the help', () => {
  expect(settings.length).toBeLessThanOrEqual(30)
  for (const setting of settings) {
    for (const part of [setting.flag ?? '', setting.env, setting.description]) expect(settingsHelp()).toContain(part)
  }
})
