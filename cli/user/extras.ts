// What is written by hand beside the derived commands: wording and comfort. A key is the name of an endpoint.
import type { Api, EndpointName } from '#contract/api.ts'
import type { OutputOf } from '#contract/endpoint.ts'
import type { QueryResult } from '#contract/query.ts'
import type { Service } from '#contract/service.ts'
import { type Options, UsageError } from '../command.ts'
import type { Context } from './context.ts'
import type { Answered, Ended, Ids } from './ids.ts'
import { parseMoment } from './moment.ts'
import { type Column, columnsOf } from './output.ts'
import { partOf, queryCsv, queryTable } from './query-table.ts'
import type { Session } from './session.ts'

export type Extra = {
  /** Other words for the verb. */
  aliases?: readonly string[]
  columns?: readonly Column[]
  /** Beside the derived ones. */
  options?: Options
  /** Members that no option of their own fills. */
  hidden?: readonly string[]
  /** What the options above make of the body. */
  body?: (input: Context['input'], body: Record<string, unknown>) => Record<string, unknown>
  /** Instead of a table of the answer. */
  show?: (answer: unknown) => string
  /** The same for csv; of a part of what there is it says so. */
  csv?: (answer: unknown, terminal: Context['terminal']) => string
  /** The service is READY all the while, so that a wait for it would tell nothing. */
  is_beside?: true
  /** Sends the request, and does what has to be done before and right after it. */
  around?: (context: Context, session: Session, ids: Ids, send: () => Promise<unknown>) => Promise<unknown>
  /** Right after the answer, of which a part is told once only: false where no file has it now. */
  keep?: (context: Context, session: Session, answered: Answered) => Promise<boolean>
  /** After the last wait; instead of printing a table. */
  after?: (context: Context, session: Session, ended: Ended) => Promise<void>
}

/** Short names for options of members; every other one has the member's own. */
export const option_names: Readonly<Record<string, string>> = {
  cpu_millis: 'cpu',
  memory_gbs: 'memory',
  environment_tag: 'environment',
  region_code: 'region',
  replica_count: 'replicas',
  sync_replica_count: 'sync',
  addons: 'addon',
  expires_at: 'expires',
  vpc_id: 'vpc',
  target_time: 'at',
}

/** Of every noun. */
export const verb_aliases: Readonly<Record<string, readonly string[]>> = {
  list: ['ls'],
  delete: ['rm'],
  get: ['show'],
}

/** What people use most comes first; other nouns follow as the contract has them. */
export const first_nouns = [
  'service',
  'deleted-service',
  'replica-set',
  'snapshot',
  'vpc',
  'peering',
  'project',
  'member',
  'token',
]

export const noun_aliases: Readonly<Record<string, string>> = { svc: 'service' }

const member = (title: string, ...path: string[]): Column => ({
  title,
  of: (item) => path.reduce<unknown>((value, name) => Object(value)[name], item),
})

/** What matters most comes first: a narrow terminal leaves the last ones out. */
const serviceColumns = (...more: readonly Column[]): Column[] => [
  member('name', 'name'),
  member('id', 'service_id'),
  member('status', 'status'),
  ...more,
  {
    title: 'endpoint',
    of: (item) => {
      const { endpoint, vpc_endpoint } = item as Service
      const { host, port } = vpc_endpoint ?? endpoint
      return `${host}:${port}`
    },
  },
  {
    title: 'size',
    of: (item) => {
      const { cpu_millis, memory_gbs } = Object((item as Service).resources[0]?.spec)
      return cpu_millis === undefined ? 'shared' : `${cpu_millis / 1000} CPU ${memory_gbs} GB`
    },
  },
  member('environment', 'metadata', 'environment'),
  member('replicas', 'ha_replicas', 'replica_count'),
  member('created', 'created'),
]

export const service_columns: readonly Column[] = serviceColumns()

const password_option = {
  'password-storage': {
    value: 'pgpass|none',
    choices: ['pgpass', 'none'],
    description: 'pgpass: kept in ~/.pgpass, where psql and drivers find it. none: printed, once.',
  },
} as const satisfies Options

const keepsPassword = {
  options: password_option,
  keep: async (context, session, { answer }) =>
    (await import('./password.ts')).keepPassword(context, session, Object(answer) as Service),
  after: async (...given) => (await import('./password.ts')).tellPassword(...given),
} satisfies Extra

const movesPassword = {
  around: async (...given) => (await import('./password.ts')).followAddress(...given),
} satisfies Extra

export const extras: { readonly [Name in EndpointName]?: Extra } = {
  listServices: { columns: service_columns },
  getService: { columns: service_columns },
  createService: { columns: service_columns, ...keepsPassword },
  renameService: { columns: service_columns },
  setProtection: { columns: serviceColumns(member('protected', 'protected')) },
  listDeletedServices: {
    columns: columnsOf(['service_id', 'name', 'deleted_at', 'kept_until', 'created', 'region_code']),
  },
  restoreDeletedService: { aliases: ['undelete'], columns: service_columns },
  setExpiry: { columns: serviceColumns(member('expires', 'expires_at')) },
  startService: { aliases: ['resume'], columns: service_columns },
  stopService: { aliases: ['pause'], columns: service_columns },
  resizeService: { columns: service_columns },
  setHA: { columns: service_columns },
  switchover: { columns: service_columns },
  rewindService: { columns: service_columns },
  undoRewind: { columns: service_columns },
  resetService: { columns: service_columns },
  forkService: {
    ...keepsPassword,
    columns: service_columns,
    hidden: ['fork_strategy', 'target_time'],
    options: {
      now: { description: 'As the parent is now; so without any of the three.' },
      'last-snapshot': { description: 'As in its newest snapshot, which is the cheapest.' },
      at: {
        value: 'moment',
        description: 'As it was then: 15m ago, yesterday 14:00, 2026-11-15T12:00:00Z.',
        member: 'target_time',
      },
      ...password_option,
    },
    body: forkBody,
  },
  updatePassword: {
    options: {
      'password-storage': { ...password_option['password-storage'], description: 'none: kept nowhere here.' },
    },
    keep: async (...given) => (await import('./password.ts')).keepGivenPassword(...given),
    after: async (...given) => (await import('./password.ts')).tellGivenPassword(...given),
  },
  attachToVpc: { aliases: ['attach'], ...movesPassword },
  detachFromVpc: { aliases: ['detach'], ...movesPassword },
  drillService: { is_beside: true },
  takeSnapshot: { aliases: ['take'] },
  createLoginLink: { show: (answer) => (answer as OutputOf<Api['createLoginLink']>).url },
  addMember: { aliases: ['add'] },
  removeMember: { aliases: ['remove'] },
  revokeToken: { aliases: ['revoke'] },
  endLogin: { aliases: ['end'] },
  createToken: {
    show: (answer) => {
      const { public_key, secret_key } = answer as OutputOf<Api['createToken']>
      return `${public_key}.${secret_key}`
    },
  },
  runQuery: {
    aliases: ['sql'],
    show: (answer) => queryTable(answer as QueryResult),
    csv: (answer, terminal) => {
      const result = answer as QueryResult
      if (result.truncated) terminal.say(partOf(result))
      return queryCsv(result)
    },
  },
  listAudit: {
    columns: columnsOf(['time', 'email', 'endpoint', 'resource_id', 'status', 'code', 'client', 'address']),
  },
  listProjectPeerings: {
    columns: columnsOf([
      'id',
      'vpc_id',
      'peer_account_id',
      'peer_region_code',
      'peer_vpc_id',
      'status',
      'error_message',
    ]),
  },
  getReplicaSetLogs: { columns: columnsOf(['timestamp', 'severity', 'message']) },
  getMetricSeries: {
    columns: [member('role', 'labels', 'role'), member('points', 'data')],
    show: (answer) => (answer as OutputOf<Api['getMetricSeries']>).map(seriesLines).join('\n\n'),
  },
  getLogHistogram: {
    show: (answer) => {
      const { buckets, partial } = answer as OutputOf<Api['getLogHistogram']>
      return [...buckets.flatMap(bucketLine), ...(partial ? ['Older entries are not counted.'] : [])].join('\n')
    },
  },
  getLineage: { show: (answer) => familyLines(answer as Family, undefined, '').join('\n') },
}

/** None for a stretch of time without entries. */
function bucketLine({ time, counts }: OutputOf<Api['getLogHistogram']>['buckets'][number]): string[] {
  const words = Object.entries(counts).map(([severity, count]) => `${severity} ${count}`)
  return words.length === 0 ? [] : [`${time}  ${words.join(', ')}`]
}

type Series = OutputOf<Api['getMetricSeries']>[number]

/** A line for each moment that was measured. */
function seriesLines({ labels, data }: Series): string {
  const points = data.filter(({ value }) => value !== null).map(({ time, value }) => `${time}  ${value}`)
  return [
    Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(' '),
    ...points,
  ].join('\n')
}

type Family = OutputOf<Api['getLineage']>

/** Each service below its parent. */
function familyLines(family: Family, parent: string | undefined, before: string): string[] {
  const known = new Set(family.map(({ service_id }) => service_id))
  const children = family.filter(({ forked_from }) => {
    const from = forked_from?.service_id
    return (from !== undefined && known.has(from) ? from : undefined) === parent
  })
  return children.flatMap(({ service_id, name, forked_from }, index) => {
    const is_last = index === children.length - 1
    const [branch, below] = parent === undefined ? ['', ''] : is_last ? ['└─ ', '   '] : ['├─ ', '│  ']
    const moment = forked_from === undefined ? '' : `  ${forked_from.fork_strategy} ${forked_from.moment ?? ''}`
    return [`${before}${branch}${name} (${service_id})${moment}`, ...familyLines(family, service_id, before + below)]
  })
}

export function forkBody(input: Context['input'], body: Record<string, unknown>): Record<string, unknown> {
  const chosen = ['now', 'last-snapshot', 'at'].filter((name) => input.isSet(name))
  if (chosen.length > 1) throw new UsageError(`--${chosen.join(' and --')} are two moments; choose one`)
  if (chosen.length === 0 && body['fork_strategy'] !== undefined) return body
  const at = input.text('at')
  if (at !== undefined) return { ...body, fork_strategy: 'PITR', target_time: parseMoment(at, new Date()) }
  return { ...body, fork_strategy: input.isSet('last-snapshot') ? 'LAST_SNAPSHOT' : 'NOW' }
}
