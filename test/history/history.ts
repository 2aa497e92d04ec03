// A history of one service with replicas: clients write through its endpoint while round after round something breaks. After
// each round everything that was acknowledged is there exactly once and nothing that was never sent; only then the next.
// The same seed gives the same faults; their timing cannot be repeated.
import { once } from 'node:events'
import type { ReadyService } from '#test/installation.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { type ServerProcess, startServerProcess } from '#test/server-process.ts'
import { until } from '#test/until.ts'
import { type Broken, type FaultKind, faults } from './faults.ts'
import { newLedger, type Verdict } from './ledger.ts'
import { nodesOf } from './nodes.ts'
import { startReaders } from './readers.ts'
import { startWriters } from './writers.ts'

export type HistorySpec = {
  rounds: number
  seed: number
  replica_count: number
  sync_replica_count: number
  /** Which faults, in which order; absent: chosen by the seed. */
  kinds?: readonly FaultKind[]
  onRound?: (round: Round) => void
  /** Removed in the end; absent: a fresh one. */
  data_dir?: string
  /** Breaks it off; nothing of it is left then either. */
  signal?: AbortSignal
}

/** `stale`: what reads lacked that was acknowledged before they began. */
export type Round = { round: number; kind: FaultKind; longest_outage_ms: number; verdict: Verdict; stale: string[] }

export type ObservedHistory = { rounds: Round[]; acknowledged: number; unknown: number; reads: number }

type Event = { kind: string; message: string }

const writer_count = 4
const reader_count = 2
const settled_timeout_ms = 120_000

export async function runHistory(spec: HistorySpec): Promise<ObservedHistory> {
  const data_dir = spec.data_dir ?? newDataDir()
  try {
    return await Promise.race([run(spec, data_dir), ...(spec.signal ? [brokenOff(spec.signal)] : [])])
  } finally {
    await removeDataDir(data_dir)
  }
}

async function brokenOff(signal: AbortSignal): Promise<never> {
  await once(signal, 'abort')
  throw signal.reason
}

async function run(spec: HistorySpec, data_dir: string): Promise<ObservedHistory> {
  const chance = newChance(spec.seed)
  const world = await openWorld(data_dir, spec)
  const ledger = newLedger()
  const ca = await (await fetch(`${world.api_url()}/ca.pem`)).text()
  const nodes = nodesOf(data_dir, world.service.service_id, world.service.endpoint.port)
  const untilWhole = () =>
    until(async () => (await nodes.streaming()) === spec.replica_count && (await world.isReady()), {
      timeout_ms: settled_timeout_ms,
      what: 'all replicas stream',
    })
  await untilWhole()
  const writers = await startWriters(world.service, ca, ledger, writer_count)
  const readers = startReaders(world.service, ca, ledger, reader_count)
  const rounds: Round[] = []
  try {
    for (let round = 1; round <= spec.rounds; round += 1) {
      const kind = spec.kinds?.[(round - 1) % spec.kinds.length] ?? kindOf(chance)
      await writers.untilAcknowledged()
      writers.longestOutage()
      await faults[kind]({ ...world, nodes, writers, chance })
      await writers.untilAcknowledged()
      await untilWhole()
      await writers.untilAcknowledged()
      await writers.halt()
      const one = {
        round,
        kind,
        longest_outage_ms: writers.longestOutage(),
        verdict: ledger.verdictOn(await writers.rows()),
        stale: readers.stale(),
      }
      rounds.push(one)
      spec.onRound?.(one)
      writers.goOn()
    }
  } catch (error) {
    const events = [...rounds.map(({ kind }) => kind), JSON.stringify(nodes.standbys()), ...(await world.events())]
    throw new Error(`the history stopped after ${rounds.length} rounds:\n${events.join('\n')}`, { cause: error })
  } finally {
    await Promise.all([writers.stop(), readers.stop()])
  }
  const [acknowledged, unknown] = [ledger.count('acknowledged'), ledger.count('unknown')]
  return { rounds, acknowledged, unknown, reads: readers.count() }
}

async function openWorld(data_dir: string, { replica_count, sync_replica_count }: HistorySpec) {
  const service_ports = newServicePorts()
  let server: ServerProcess = await startServerProcess({ data_dir, service_ports })
  const token = server.first_token ?? ''
  const services = `/projects/${server.project_id}/services`
  const call = (method: string, path: string, body?: object) => server.callWith(token)(method, services + path, body)
  const counts = { replica_count, sync_replica_count }
  const { body } = await call('POST', '', { name: 'history', cpu_millis: 'shared', memory_gbs: 'shared', ...counts })
  const service = body as ReadyService // the contract's own answer to a create
  const statusOf = async (id: string) => {
    const answer = await call('GET', `/${id}`)
    return answer.status === 404 ? 'removed' : answer.body.status
  }
  await until(async () => (await statusOf(service.service_id)) === 'READY', { what: 'the service is READY' })
  return {
    service,
    api_url: () => server.api_url,
    /** What the service tells of itself, the latest last. */
    events: async () => {
      const { body } = await server.callWith(token)<Event[]>('GET', `${services}/${service.service_id}/events`)
      return body.map(({ kind, message }) => `${kind}: ${message}`).toReversed()
    },
    isReady: async () => (await statusOf(service.service_id)) === 'READY',
    killServer: async (meanwhile?: () => void) => {
      const ended = server.end()
      meanwhile?.()
      await ended
      server = await startServerProcess({ data_dir, service_ports })
    },
    post: async (path: string, input?: object) => {
      const answer = await until(
        async () => {
          const one = await call('POST', `/${service.service_id}${path}`, input)
          return one.status < 300 && one
        },
        { what: `POST ${path} is taken` },
      )
      return answer.body.service_id
    },
    remove: async (id: string) => {
      await until(async () => (await statusOf(id)) === 'READY', { what: 'the fork is READY' })
      await call('DELETE', `/${id}`)
      await until(async () => (await statusOf(id)) === 'removed', { what: 'the fork is removed' })
    },
  } satisfies Partial<Broken> & Record<string, unknown>
}

/** A stopped primary is noticed only after seconds: not as often as the others. */
function kindOf(chance: (below: number) => number): FaultKind {
  const names = Object.keys(faults) as FaultKind[] // the keys of the object above
  const often = [...names, ...names, ...names].filter((name, at) => name !== 'stop the primary' || at < names.length)
  return often[chance(often.length)] ?? 'kill the primary'
}

/** A small generator of numbers below a bound: the same seed gives the same row. */
function newChance(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
