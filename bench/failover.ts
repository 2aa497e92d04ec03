// Bench: kill -9 of a primary under writes until a client that comes back has a write acknowledged again, against a
// promotion by hand in the same run; and how long a replica takes to be made, against a plain copy of the files.
// `--wal-mb 0,1000`: so much was written since the replica last wrote everything out, and would be replayed by a start.
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { newLedger } from '#test/history/ledger.ts'
import { type Nodes, nodesOf } from '#test/history/nodes.ts'
import { startWriters } from '#test/history/writers.ts'
import type { ReadyService } from '#test/installation.ts'
import { floorFailover } from './failover-floor.ts'
import { atMost, type Figure, medianOf, printFigures, spread, timed } from './figures.ts'
import { newParent } from './fork-parent.ts'
import { type Bench, withHowdah } from './howdah.ts'
import { inPlace } from './place.ts'

const poll_ms = 5
const writer_count = 4
const goal_ms = 500
/** Its archive keeps all WAL of its rounds, on a disk that may lie in memory. */
const rounds_of_one_service = 2
/** What a replica has yet to replay is another matter than what it has replayed since its last restartpoint. */
const behind_bytes_max = 1_000_000

await inPlace(20, async ({ folder, description, runs, gb, wal_mb }) => {
  const floor: number[] = []
  for (let run = 0; run < runs; run += 1) floor.push(await floorFailover(folder))
  const figures: Figure[] = []
  await withHowdah(join(folder, 'howdah'), async (bench) => {
    for (const spec of wal_mb.flatMap(specsOf)) {
      const what = `${spec.replicas} ${spec.replicas === 1 ? 'replica' : 'replicas'}, ${spec.sync} synchronous`
      const after = spec.wal_mb === 0 ? '' : `, after ${spec.wal_mb} MB of WAL`
      figures.push(...figuresOf(`${what}${after}`, floor, await outages(bench, runs, spec)))
    }
    for (const size of gb) figures.push(await creation(bench, folder, Math.min(runs, 5), size))
  })
  printFigures(`failover, ${runs} rounds on ${description}`, figures)
})

type Spec = { replicas: number; sync: number; wal_mb: number }

function specsOf(wal_mb: number): Spec[] {
  // With one replica, synchronous, a commit waits for the lost node, which replays it all before it follows.
  if (wal_mb > 0) {
    return [
      { replicas: 1, sync: 0, wal_mb },
      { replicas: 2, sync: 1, wal_mb },
    ]
  }
  return [
    { replicas: 1, sync: 0, wal_mb },
    { replicas: 1, sync: 1, wal_mb },
    { replicas: 2, sync: 1, wal_mb },
  ]
}

function figuresOf(what: string, floor: readonly number[], ours: readonly number[]): Figure[] {
  const p95 = ours.toSorted((a, b) => a - b)[Math.ceil(ours.length * 0.95) - 1] ?? Number.NaN
  return [
    { what, floor: spread(floor, 'ms'), ours: spread(ours, 'ms'), ratio: medianOf(ours) / medianOf(floor) },
    { what: `${what}, p95`, ours: `${p95.toFixed(0)} ms`, goal: atMost(goal_ms, p95, ' ms') },
  ]
}

async function outages(bench: Bench, runs: number, spec: Spec): Promise<number[]> {
  const at_most = spec.wal_mb === 0 ? runs : rounds_of_one_service
  const measured: number[] = []
  while (measured.length < runs) {
    measured.push(...(await outagesOfOne(bench, Math.min(at_most, runs - measured.length), spec)))
  }
  return measured
}

async function outagesOfOne(bench: Bench, runs: number, { replicas, sync, wal_mb }: Spec): Promise<number[]> {
  const counts = { replica_count: replicas, sync_replica_count: sync }
  // A smaller one writes everything out before so much WAL has come together.
  const size = wal_mb === 0 ? { cpu_millis: 'shared', memory_gbs: 'shared' } : { cpu_millis: '2000', memory_gbs: '8' }
  const made = await bench.createService('bench', { ...size, ...counts })
  const service = made as ReadyService // the answer to a create has them all
  await bench.waitFor(service.service_id, 'READY')
  const nodes = nodesOf(bench.data_dir, service.service_id, service.endpoint.port)
  const ca = await (await fetch(`${bench.url}/ca.pem`)).text()
  const writers = await startWriters(service, ca, newLedger(), writer_count)
  const measured: number[] = []
  try {
    for (let run = 0; run < runs; run += 1) {
      while ((await nodes.streaming().catch(() => 0)) < replicas) await pause(poll_ms)
      await bench.waitFor(service.service_id, 'READY')
      if (wal_mb > 0) await writeWal(service, ca, wal_mb)
      while ((await nodes.streaming(behind_bytes_max).catch(() => 0)) < replicas) await pause(poll_ms)
      await writers.untilAcknowledged()
      measured.push(await outage(service, nodes, ca))
    }
  } finally {
    await writers.stop()
  }
  await bench.remove(service.service_id)
  await bench.waitFor(service.service_id, 'removed')
  return measured
}

/** Of a client that begins to come back at the moment of the kill. */
async function outage(service: ReadyService, nodes: Nodes, ca: string): Promise<number> {
  const processes = nodes.processes(nodes.primary())
  return await timed(async () => {
    // The whole of it, so that no session of the lost one can answer once more.
    for (const pid of processes) killIfThere(pid)
    while (!(await writes(service, ca))) await pause(poll_ms)
  })
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended with its postmaster.
  }
}

/** Much that cannot be compressed away, and is removed from the database before the next time. */
async function writeWal(service: ReadyService, ca: string, wal_mb: number): Promise<void> {
  await withClient(service, ca, 120_000, async (client) => {
    await client.query('drop table if exists filler')
    await client.query('create table filler (words text)')
    await client.query('alter table filler alter words set storage external')
    await client.query(`insert into filler select repeat('x', 8000) from generate_series(1, ${wal_mb * 120})`)
  })
}

async function writes(service: ReadyService, ca: string): Promise<boolean> {
  try {
    await withClient(service, ca, 10_000, (client) => client.query('insert into history values (-1, 0)'))
    return true
  } catch {
    return false
  }
}

async function withClient(
  { endpoint, initial_password }: ReadyService,
  ca: string,
  query_timeout: number,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  const client = new pg.Client({
    ...endpoint,
    user: 'tsdbadmin',
    database: 'tsdb',
    password: initial_password,
    ssl: { ca },
    connectionTimeoutMillis: 2_000,
    query_timeout,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function creation(bench: Bench, folder: string, runs: number, gb: number): Promise<Figure> {
  const parent = await newParent(bench, gb)
  const [floor, ours]: [number[], number[]] = [[], []]
  const copy = join(folder, 'copy')
  for (let run = 0; run < runs; run += 1) {
    execFileSync('sync', ['-f', folder])
    floor.push(
      await timed(async () => {
        execFileSync('cp', ['-a', '--reflink=auto', join(parent.home, 'data'), copy])
        execFileSync('sync', ['-f', folder])
      }),
    )
    rmSync(copy, { recursive: true, force: true })
    execFileSync('sync', ['-f', folder])
    ours.push(await timed(() => setReplicas(bench, parent.service_id, 1)))
    await setReplicas(bench, parent.service_id, 0)
  }
  const ratio = medianOf(ours) / medianOf(floor)
  const what = `setHA from 0 to 1 replica → READY, ${gb} GB`
  return { what, floor: spread(floor, 'ms'), ours: spread(ours, 'ms'), ratio, goal: atMost(1.5, ratio) }
}

async function setReplicas(bench: Bench, service_id: string, replica_count: number): Promise<void> {
  const url = `${bench.url}/projects/${bench.project_id}/services/${service_id}/setHA`
  const headers = { authorization: `Bearer ${bench.token}`, 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ replica_count }) })
  if (!answer.ok) throw new Error(`setHA: ${answer.status} ${await answer.text()}`)
  await bench.waitFor(service_id, 'READY')
}
