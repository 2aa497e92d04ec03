// Which tools an agent gets: a set of at most 30, without those that change anything unless its user asked for them. Any other endpoint
// has a tool too, that the user names. A tool that is not listed cannot be called.
import { api, type EndpointName } from '#contract/api.ts'
import { toolNameOf } from '#contract/tool.ts'
import { derivedTool } from './derived-tools.ts'
import {
  diagnose_service,
  get_connection,
  search_logs,
  set_pooler,
  try_on_fork,
  wait_for_service,
} from './hand-tools.ts'
import { runSqlTool, sql_tools } from './sql-tools.ts'
import type { Tool } from './tool.ts'

/** In the order of the list. Never among them: what ends a login, and what answers or sets a secret. */
const default_endpoints = [
  'listProjects',
  'listServices',
  'getService',
  'createService',
  'forkService',
  'startService',
  'stopService',
  'resizeService',
  'renameService',
  'setEnvironment',
  'setHA',
  'switchover',
  'deleteService',
  'listServiceEvents',
  'getMetricSeries',
  'listSnapshots',
  'takeSnapshot',
  'getRestorable',
  'getLineage',
] as const satisfies readonly EndpointName[]

const by_hand: readonly Tool[] = [
  wait_for_service,
  get_connection,
  ...sql_tools,
  search_logs,
  diagnose_service,
  set_pooler,
  try_on_fork,
]

export type ToolChoice = {
  /** Also those that change something. */
  writes: boolean
  /** Names of more tools, or of endpoints. */
  more?: readonly string[]
}

export function listTools({ writes, more = [] }: ToolChoice): Tool[] {
  // Object.keys forgets the names that the table's type has.
  const names = Object.keys(api) as EndpointName[]
  const asked = names.filter((name) => more.includes(name) || more.includes(toolNameOf(name)))
  const chosen = [...new Set<EndpointName>([...default_endpoints, ...asked])]
  const all = [...chosen.map(derivedTool), ...by_hand, runSqlTool(writes)]
  return all.filter(({ annotations }) => writes || annotations.readOnlyHint)
}

/** Those names that mean no tool. */
export function unknownTools(more: readonly string[]): string[] {
  return more.filter((one) => !Object.keys(api).some((name) => name === one || toolNameOf(name) === one))
}
