// Whether what is on screen is the truth: whether a stream tells of changes, how often things are asked for again, since when the
// server has not answered, and whether it is another one by now than that which this page came from.
import { isUnderWay, service_statuses } from '#contract/service-status.ts'
import { version } from '#contract/version.ts'
import { newTold } from './part/told.ts'
import { ofServices, type ReadName } from './refetch.ts'

const poll_ms = 4_000
const poll_busy_ms = 700
/** Beside a stream, for what no event tells, such as a new member. */
const poll_live_ms = 15_000
const offline_after_ms = 3_000

/** Those that change rarely, or are asked for by hand. */
const still: ReadonlySet<ReadName> = new Set<ReadName>([
  'getCapabilities',
  'getCaCertificate',
  'getAuthInfo',
  'getServiceLogs',
  'getReplicaSetLogs',
  'getLogHistogram',
  'getMetricSeries',
  'listMetricSeries',
  'listAudit',
])
const told: ReadonlySet<ReadName> = new Set<ReadName>(ofServices)
const busy_words = new Set<unknown>([
  ...service_statuses.filter((status) => isUnderWay(status)),
  'creating',
  'resizing',
  'deleting',
  'taking',
  'pending',
])

type State = { is_live: boolean; offline_since: number | undefined; other_version: string | undefined }

let state: State = { is_live: false, offline_since: undefined, other_version: undefined }
const { tell, useTold } = newTold()

function change(changes: Partial<State>): void {
  state = { ...state, ...changes }
  tell()
}

const usePolling = () => useTold(() => state)

/** How soon to ask again; false: not by itself. A tab that is hidden does not ask. */
export function pollInterval(name: ReadName, data: unknown): number | false {
  if (still.has(name)) return false
  if (state.is_live) return told.has(name) && isBusy(data) ? poll_ms : poll_live_ms
  return isBusy(data) ? poll_busy_ms : poll_ms
}

function isBusy(data: unknown): boolean {
  if (Array.isArray(data)) return data.some(isBusy)
  return typeof data === 'object' && data !== null && 'status' in data && busy_words.has(data.status)
}

export const isLive = () => state.is_live

export function setLive(is_live: boolean): void {
  if (is_live !== state.is_live) change({ is_live })
}

/** Whether a stream tells of every change, in this tab or in another one. */
export const useLive = () => usePolling().is_live

let failing_since: number | undefined
let timer: ReturnType<typeof setTimeout> | undefined

/** Told after every request. A short failure is not worth a banner. */
export function noteAnswer(reached: boolean): void {
  if (reached === (failing_since === undefined)) return
  failing_since = reached ? undefined : Date.now()
  clearTimeout(timer)
  if (reached) change({ offline_since: undefined })
  else timer = setTimeout(() => change({ offline_since: failing_since }), offline_after_ms)
}

/** Since when the server cannot be reached; undefined while it can. */
export const useOfflineSince = () => usePolling().offline_since

/** Told with every answer. */
export function noteVersion(theirs: string | null): void {
  const other_version = theirs === null || theirs === version ? undefined : theirs
  if (theirs !== null && other_version !== state.other_version) change({ other_version })
}

/** The version of the server, where this page is of another one. */
export const useOtherVersion = () => usePolling().other_version
