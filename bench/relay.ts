// Bench: what the relay to a primary that was promoted where it ran costs: processor time of a select through it, of all processes
// that take part (client, relay, server), against the same server at its own address. Both take turns in one run.
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { nodeHostOf } from '#providers/local/host/layout.ts'
import { nodesOf, type Nodes } from '#test/history/nodes.ts'
import type { ReadyService } from '#test/installation.ts'
import { atMost, medianOf, printFigures, spread } from './figures.ts'
import { type Bench, withHowdah } from './howdah.ts'
import { inPlace } from './place.ts'
import { ownSecondsOf } from './processor.ts'

const selects = 10_000
const poll_ms = 20
/** Until the replica may take over as it runs. */
const files_read_ms = 6_000

type Subject = { service: ReadyService; nodes: Nodes; ca: string }

await inPlace(10, async ({ folder, description, runs }) => {
  await withHowdah(join(folder, 'howdah'), async (bench) => {
    const subject = await newSubject(bench)
    const { endpoint } = subject.service
    const direct = { host: nodeHostOf(endpoint.port, subject.nodes.primary()), port: endpoint.port }
    const [floor, ours]: [number[], number[]] = [[], []]
    for (let run = 0; run < runs; run += 1) {
      floor.push(await selectUs(subject, direct))
      ours.push(await selectUs(subject, endpoint))
    }
    const ratio = medianOf(ours) / medianOf(floor)
    const what = 'processor time of a select through the relay'
    const figure = { what, floor: spread(floor, 'µs'), ours: spread(ours, 'µs'), ratio, goal: atMost(1.25, ratio) }
    printFigures(`relay, ${runs} runs of ${selects} selects on ${description}`, [figure])
  })
})

/** A service whose primary has just been replaced by a replica as it ran. */
async function newSubject(bench: Bench): Promise<Subject> {
  const size = { cpu_millis: 'shared', memory_gbs: 'shared' }
  const service = (await bench.createService('bench', { ...size, replica_count: 1 })) as ReadyService // the answer to a create has them all
  await bench.waitFor(service.service_id, 'READY')
  const nodes = nodesOf(bench.data_dir, service.service_id, service.endpoint.port)
  await pause(files_read_ms)
  process.kill(nodes.postmaster(0) ?? 0, 'SIGKILL')
  while (nodes.relay() === undefined || (await nodes.streaming().catch(() => 0)) < 1) await pause(poll_ms)
  await bench.waitFor(service.service_id, 'READY')
  return { service, nodes, ca: await (await fetch(`${bench.url}/ca.pem`)).text() }
}

async function selectUs({ service, nodes, ca }: Subject, at: { host: string; port: number }): Promise<number> {
  const login = { user: 'tsdbadmin', database: 'tsdb', password: service.initial_password }
  // The certificate names the endpoint; the same server is reached by another address here.
  const client = new pg.Client({ ...at, ...login, ssl: { ca, checkServerIdentity: () => undefined } })
  await client.connect()
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const others = [rows[0]?.pid ?? 0, nodes.relay() ?? 0]
    const before = spentUs(others)
    for (let count = 0; count < selects; count += 1) await client.query({ name: 'one', text: 'select 1' })
    return (spentUs(others) - before) / selects
  } finally {
    await client.end()
  }
}

function spentUs(pids: readonly number[]): number {
  const { user, system } = process.cpuUsage()
  return pids.reduce((sum, pid) => sum + ownSecondsOf(pid) * 1e6, user + system)
}
