// The tools that put several calls of the API together.
import { api } from '#contract/api.ts'
import { connectionLine, connectionOf } from '#contract/connection.ts'
import { wait_seconds_max } from '#contract/endpoint.ts'
import { Fault } from '#contract/fault.ts'
import { annotationsOf, inputOf, toolOf } from '#contract/tool.ts'
import { waitFor } from './derived-tools.ts'
import { answerOf } from './sql-tools.ts'
import { type Args, placeOf, textOf, type Tool, type ToolAnswer, type World } from './tool.ts'

const service_id = { type: 'string', description: 'Id or exact name.' }
const project_id = { type: 'string' }
const of_service = { project_id, service_id }
const fork_ms_max = 3_600_000

const locks = `select a.pid, a.state, pg_catalog.pg_blocking_pids(a.pid) as blocked_by, a.wait_event_type, pg_catalog.now() - a.xact_start as open_for,
    pg_catalog.left(a.query, 200) as query from pg_catalog.pg_stat_activity a
  where a.backend_type = 'client backend' and a.state is distinct from 'idle' and a.pid <> pg_catalog.pg_backend_pid() limit 20`

export const get_connection: Tool = {
  name: 'get_connection',
  description: 'A URI and the variables of libpq. The password is not in it: the user has it.',
  inputSchema: inputOf({ ...of_service, pooled: { enum: ['session', 'transaction'] } }, ['service_id']),
  annotations: annotationsOf('read'),
  run: async ({ client, ...world }, args) => {
    const service = await client.getService(await placeOf({ client, ...world }, args))
    const pooled = args['pooled'] === 'session' || args['pooled'] === 'transaction' ? args['pooled'] : undefined
    const connection = connectionOf(service, { pooled })
    if (connection === undefined)
      throw new Fault('INVALID_REQUEST', 'the service has no connection pooler; enable it first')
    const { direct: _, ...shown } = connection
    return { data: { ...shown, password: '$PGPASSWORD', uri: connectionLine(connection, 'uri') } }
  },
}

export const wait_for_service: Tool = {
  name: 'wait_for_service',
  description: 'Answers the service at its rest, or as it is after wait_seconds (30, 50 at most).',
  inputSchema: inputOf({ ...of_service, wait_seconds: { type: 'integer' } }, ['service_id']),
  annotations: annotationsOf('read'),
  run: async (world, args) => {
    return { data: (await waitFor(world, await placeOf(world, args), args)) ?? { removed: true } }
  },
}

const logs = toolOf('getServiceLogs', api.getServiceLogs)
// The lines that it answers name no process.
const { page: _page, after: _after, process_id: _process_id, ...log_members } = logs.inputSchema.properties

export const search_logs: Tool = {
  ...logs,
  name: 'search_logs',
  description: 'Search the log of a service, newest first.',
  inputSchema: inputOf(
    {
      ...log_members,
      lines: { type: 'integer', description: 'At most; 50 if left out.' },
      histogram: { type: 'boolean', description: 'Also counts over time.' },
    },
    ['service_id'],
  ),
  run: async (world, args) => {
    const { project_id: _project, service_id: _service, lines, histogram, ...query } = args
    const found = await logLines(world, args, query, typeof lines === 'number' ? lines : 50)
    if (histogram !== true) return found
    const { cursor: _cursor, ...filters } = query
    const counted = await world.client.getLogHistogram({ ...(await placeOf(world, args)), query: filters })
    // Most stretches of time have nothing.
    const buckets = counted.buckets.filter(({ counts }) => Object.keys(counts).length > 0)
    return { ...found, data: { ...Object(found.data), histogram: { ...counted, buckets } } }
  },
}

async function logLines(world: World, args: Args, query: object, lines: number): Promise<ToolAnswer> {
  const { entries = [], last_cursor } = await world.client.getServiceLogs({ ...(await placeOf(world, args)), query })
  const shown = entries.slice(0, lines)
  const words = shown.map(({ timestamp, severity, message }) => `${timestamp} ${severity} ${message}`).join('\n')
  return { data: { entries: shown.length, ...(last_cursor && { last_cursor }) }, ...(words !== '' && { words }) }
}

export const diagnose_service: Tool = {
  name: 'diagnose_service',
  description: 'Status with its reason, latest events, errors of the last hour, and what its sessions do or wait for.',
  inputSchema: inputOf(of_service, ['service_id']),
  annotations: annotationsOf('read'),
  run: async (world, args) => {
    const at = await placeOf(world, args)
    const since = new Date(Date.now() - 3_600_000).toISOString()
    const [service, events, errors, sessions] = await Promise.all([
      world.client.getService(at),
      world.client.listServiceEvents(at),
      logLines(world, args, { severities: ['ERROR', 'FATAL', 'PANIC'], since }, 20),
      // A service that is down, or a caller who may not ask, has no sessions to show.
      world.client
        .runQuery({ ...at, body: { query: locks } })
        .then(answerOf, (error: Error) => ({ words: error.message })),
    ])
    const words = [errors.words && `errors:\n${errors.words}`, sessions.words && `sessions:\n${sessions.words}`]
    return { data: { service, events: events.slice(0, 10) }, words: words.filter(Boolean).join('\n\n') }
  },
}

export const set_pooler: Tool = {
  name: 'set_pooler',
  description: 'Switch the connection pooler of a service on or off. Possible in status READY.',
  inputSchema: inputOf({ ...of_service, on: { type: 'boolean' } }, ['service_id', 'on']),
  annotations: annotationsOf('change', { interrupts: true }),
  run: async (world, args) => {
    const at = await placeOf(world, args)
    return { data: await (args['on'] === true ? world.client.enablePooler(at) : world.client.disablePooler(at)) }
  },
}

export const try_on_fork: Tool = {
  name: 'try_on_fork',
  description:
    'Makes a fork of a service as it is now, runs one statement there that may write, and deletes the fork. The service is untouched.',
  inputSchema: inputOf({ ...of_service, query: { type: 'string' } }, ['service_id', 'query']),
  annotations: { ...annotationsOf('add'), openWorldHint: true },
  run: async (world, args) => {
    const { client } = world
    const { project_id: project, service_id: parent } = await placeOf(world, args)
    const query = textOf(args, 'query')
    // Should its deletion below never be reached, it ends by itself.
    const expires_at = new Date(Date.now() + fork_ms_max).toISOString()
    const body = { fork_strategy: 'NOW', name: `try-${parent}`, expires_at } as const
    const fork = await client.forkService({ project_id: project, service_id: parent, body })
    const at = { project_id: project, service_id: fork.service_id }
    try {
      const ready = await waitFor(world, at, { wait_seconds: wait_seconds_max })
      if (ready?.status !== 'READY')
        throw new Fault('UNAVAILABLE', `the fork is not READY in time: ${ready?.status ?? 'removed'}`)
      return answerOf(await client.runQuery({ ...at, body: { query, mode: 'write', timeout_seconds: 30 } }))
    } finally {
      await client.deleteService(at)
    }
  },
}
