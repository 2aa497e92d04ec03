// Reads the log of a service or a replica set: finds out whose it is, asks its region's provider, and answers in the requested mode, or goes on.
// Reads that scan much of a log are bounded for each project: its searches wait for each other, not for others.
import { setTimeout as pause } from 'node:timers/promises'
import { Fault, notFound, unknown_replica_set } from '#contract/fault.ts'
import type { LogEntry } from '#contract/log.ts'
import { checked, invalidRequest, type Problem } from '#contract/problem.ts'
import type { LogQuery, LogRefusal, LogSilence, LogTailQuery, PlacedEntry } from '#providers/log.ts'
import { newGates } from '../http/gate.ts'
import type { Handlers, Tails } from '../http/handler.ts'
import { unknownEventId } from '../http/stream.ts'
import { getProvider, type Regions, requireOffered } from '../regions.ts'
import { type At, getService, setIdsOf } from '../service/change.ts'
import type { ServiceContext } from '../service/context.ts'
import type { ServiceRow } from '../service/store.ts'
import { readHistogram } from './histogram.ts'
import { type LogRequest, parseHistogramRequest, parseLogRequest, forwardProblems } from './rules.ts'

type SetAt = At & { replica_set_id: string }

const scan_limits = {
  at_once_max: 2,
  waiting_max: 16,
  refusal: () =>
    new Fault('RATE_LIMITED', 'too many searches through logs of this project at once; wait for their answers first', {
      retry_after_seconds: 2,
    }),
}

type Names = 'getServiceLogs' | 'getReplicaSetLogs'
type ServiceLog = { handlers: Pick<Handlers, Names | 'getLogHistogram'>; tails: Pick<Tails, Names> }

/** Whose log it is: a service or a replica set. */
type Owner = { id: string; project_id: string; region_code: string }

/** Between two reads of a log without news. */
const wait_poll_ms = 500

/** What is asked of the region of a log. */
function newReads(providers: Regions) {
  const scan = newGates(scan_limits)
  const logsOf = ({ region_code }: Owner) => {
    const provider = getProvider(providers, region_code)
    requireOffered(provider.facts().logs)
    return provider.logs
  }
  const askPage = async (owner: Owner, query: LogQuery) => {
    const page = await logsOf(owner).page(owner.id, query)
    if ('unavailable' in page) throw unavailable(page)
    if ('refused' in page) throw invalidRequest([problemOf(page)])
    return page
  }
  const readPage = (owner: Owner, query: LogQuery) => {
    const read = () => askPage(owner, query)
    return scansLog(query) ? scan(owner.project_id, read) : read()
  }
  const askTail = async (owner: Owner, query: LogTailQuery, unknown: () => Fault) => {
    const tail = await logsOf(owner).tail(owner.id, query)
    if ('unavailable' in tail) throw unavailable(tail)
    if ('refused' in tail) throw tail.refused === 'cursor' ? unknown() : invalidRequest([problemOf(tail)])
    return tail
  }
  return { scan, askPage, readPage, askTail }
}

export function newServiceLog({ db, providers, settled }: ServiceContext): ServiceLog {
  const ofService = async (at: At): Promise<Owner> => ownerOf(await getService(db, at))
  const ofSet = async (at: SetAt): Promise<Owner> => {
    const service = await getService(db, at)
    if (!setIdsOf(service).includes(at.replica_set_id)) throw notFound(unknown_replica_set)
    return { ...ownerOf(service), id: at.replica_set_id }
  }
  const { scan, askPage, readPage, askTail } = newReads(providers)
  const list = async (owner: Owner, request: LogRequest, wait_seconds: number) => {
    if (request.after !== undefined) return listAfter(owner, request, wait_seconds)
    const { query, by_cursor } = checked((problems) => parseLogRequest(request, problems))
    const { entries, cursor, placed } = await readPage(owner, query)
    const logs = entries.map(({ message }) => message)
    if (!by_cursor) return { logs }
    return { logs, entries: placed().map(inContract), ...(cursor && { lastCursor: cursor, last_cursor: cursor }) }
  }
  /** Reads on until there is an entry; where it ends without one, the next request goes on there. */
  const listAfter = async (owner: Owner, request: LogRequest, wait_seconds: number) => {
    const { query } = checked((problems) => parseForward(request, problems))
    const until_ms = performance.now() + wait_seconds * 1000
    let after = request.after
    for (;;) {
      const { entries, at } = await askTail(owner, { ...query, after }, unknownAfter)
      const is_read = at === after
      after = at
      const has_ended = settled.closing.aborted || performance.now() >= until_ms
      if (entries.length > 0 || has_ended) {
        const logs = entries.map(({ entry }) => entry.message)
        return { logs, entries: entries.map(inContract), ...(at !== undefined && { last_cursor: at }) }
      }
      if (is_read) await pause(wait_poll_ms, undefined, { signal: settled.closing }).catch(() => undefined)
    }
  }
  const readTail = async (owner: Owner, request: LogRequest, at: string | undefined) => {
    const { query } = checked((problems) => parseForward(request, problems))
    const after = at ?? request.after ?? (await readPage(owner, query)).cursor
    const tail = await askTail(owner, { ...query, after }, unknownEventId)
    return { entries: tail.entries.map((placed) => ({ id: placed.at, entry: inContract(placed) })), at: tail.at }
  }
  return {
    handlers: {
      getLogHistogram: async ({ params, query: request }) => {
        const owner = await ofService(params)
        const { query, buckets } = checked((problems) => parseHistogramRequest(request, Date.now(), problems))
        return scan(owner.project_id, () => readHistogram((page) => askPage(owner, page), query, buckets))
      },
      getServiceLogs: async ({ params, query, wait_seconds }) => list(await ofService(params), query, wait_seconds),
      getReplicaSetLogs: async ({ params, query, wait_seconds }) => list(await ofSet(params), query, wait_seconds),
    },
    tails: {
      getServiceLogs: { read: async ({ params, query }, at) => readTail(await ofService(params), query, at) },
      getReplicaSetLogs: { read: async ({ params, query }, at) => readTail(await ofSet(params), query, at) },
    },
  }
}

function ownerOf({ service_id: id, project_id, region_code }: ServiceRow): Owner {
  return { id, project_id, region_code }
}

function parseForward(request: LogRequest, problems: Problem[]) {
  problems.push(...forwardProblems(request))
  return parseLogRequest(request, problems)
}

const unknownAfter = () =>
  invalidRequest([
    { path: 'query/after', message: 'must be the id of an entry of this service or replica set, and node' },
  ])

/** A provider tells PostgreSQL's severities as text. */
const inContract = ({ entry, node, at }: PlacedEntry) => ({ ...entry, node, id: at }) as LogEntry

/** Whether it reads more entries than it answers. */
function scansLog({ search, severities, process_id, skip }: LogQuery): boolean {
  return search.length > 0 || severities.length > 0 || process_id !== undefined || skip > 0
}

const unavailable = ({ unavailable: message }: LogSilence) =>
  new Fault('UNAVAILABLE', message, { retry_after_seconds: 5 })

function problemOf({ refused }: LogRefusal): Problem {
  return refused === 'node'
    ? {
        path: 'query/node',
        message: 'there is no such node; leave it out to read the primary, or the first of a replica set',
      }
    : {
        path: 'query/cursor',
        message: 'must be the lastCursor of an earlier answer for this service or replica set, and node',
      }
}
