// Bench: attach to a VPC and detach from it, as a polling client sees them and as an application is down meanwhile; and
// queries at the address in the VPC against the same server on loopback. Both take turns in one run, and loopback has two
// of them, before and after: what these two differ by is the noise of the rest. Root only.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { namespaceAt } from '#providers/local/network/namespace.ts'
import { atLeast, medianOf, printFigures, spread, timed } from './figures.ts'
import { type Bench, withHowdah } from './howdah.ts'
import { inPlace } from './place.ts'
import type { Load, Order } from './vpc-client.ts'

type Endpoint = { host: string; port: number }
/** `home` and `inside`: where the service is reached outside and in its VPC. */
type Subject = { service_id: string; password: string; ca: string; home: Endpoint; inside: Endpoint }

const many = 50
/** A share of a core would be the limit of what is measured, and hide the network. */
const unlimited = { cpu_millis: 'shared', memory_gbs: 'shared' }

await inPlace(10, async ({ folder, description, runs }) => {
  await withHowdah(join(folder, 'howdah'), async (bench) => {
    const [own, peer] = [await newVpc(bench, 0), await newVpc(bench, 1)]
    const link = { peer_account_id: bench.project_id, peer_region_code: 'local', peer_vpc_id: peer }
    await post(bench, `vpcs/${own}/peerings`, link)
    const subject = await newSubject(bench, own)
    const turns: Turn[] = []
    for (let run = 0; run < runs; run += 1) turns.push(await turn(bench, subject, own, peer))
    print(turns, `vpc, ${runs} runs on ${description}`)
    await bench.remove(subject.service_id)
    await attachMany(bench)
  })
})

type Turn = { attach_ms: number; down_ms: number; detach_ms: number } & Record<'at_home' | LoadAt, Load>
type LoadAt = 'inside' | 'across' | 'home_again'

async function turn(bench: Bench, subject: Subject, own: string, peer: string): Promise<Turn> {
  const { service_id, password, ca, home, inside: address } = subject
  const loadAt = async (vpc_id: string | undefined, endpoint: Endpoint) =>
    JSON.parse(await begin(bench, vpc_id, { kind: 'load', ...endpoint, password, ca }).answer) as Load // printed by vpc-client.ts
  const at_home = await loadAt(undefined, home)
  const newcomer = begin(bench, own, { kind: 'first', ...address, password, ca })
  await newcomer.trying
  const session = new pg.Client({ ...home, user: 'tsdbadmin', database: 'tsdb', password, ssl: { ca } })
  const ended_at_ms = new Promise<number>((resolve) => session.on('error', () => resolve(Date.now())))
  await session.connect()
  const attach_ms = await timed(() => move(bench, service_id, 'attachToVPC', { vpc_id: own }))
  const down_ms = Number(await newcomer.answer) - (await ended_at_ms)
  const inside = await loadAt(own, address)
  const across = await loadAt(peer, address)
  const detach_ms = await timed(() => move(bench, service_id, 'detachFromVPC', {}))
  const home_again = await loadAt(undefined, home)
  return { attach_ms, down_ms, detach_ms, at_home, inside, across, home_again }
}

function print(turns: readonly Turn[], title: string): void {
  const compared = (what: string, load: LoadAt) => {
    const rates = turns.map((each) => each[load].per_second)
    const latencies = turns.map((each) => each[load].latency_ms)
    const floors = turns.flatMap(({ at_home, home_again }) =>
      load === 'home_again' ? [at_home] : [at_home, home_again],
    )
    const floor_rates = floors.map(({ per_second }) => per_second)
    const floor_latencies = floors.map(({ latency_ms }) => latency_ms)
    const rate = medianOf(rates) / medianOf(floor_rates)
    // The other way round, so that both are better when they are higher.
    const speed = medianOf(floor_latencies) / medianOf(latencies)
    const throughput = { floor: spread(floor_rates, '/s'), ours: spread(rates, '/s'), ratio: rate }
    const latency = { floor: precise(floor_latencies), ours: precise(latencies), ratio: speed }
    return [
      { what: `queries ${what}, 4 sessions`, ...throughput, goal: atLeast(0.9, rate) },
      { what: `one query ${what}`, ...latency, goal: atLeast(0.9, speed) },
    ]
  }
  const of = (name: 'attach_ms' | 'down_ms' | 'detach_ms') =>
    spread(
      turns.map((each) => each[name]),
      'ms',
    )
  printFigures(title, [
    { what: 'attach → READY', ours: of('attach_ms') },
    { what: 'detach → READY', ours: of('detach_ms') },
    { what: 'down while it moves in', ours: of('down_ms') },
    ...compared('inside the VPC', 'inside'),
    ...compared('from a peer', 'across'),
    ...compared('on loopback once more', 'home_again'),
  ])
}

function precise(values: readonly number[]): string {
  return `${medianOf(values).toFixed(3)} ms`
}

/** As many VPCs, each with a service of its own, all of them attached at once. */
async function attachMany(bench: Bench): Promise<void> {
  const vpc_ids: string[] = []
  const service_ids: string[] = []
  for (let at = 0; at < many; at += 1) {
    vpc_ids.push(await newVpc(bench, 2 + at))
    service_ids.push((await bench.createService(`bench ${at}`, unlimited)).service_id)
  }
  for (const service_id of service_ids) await bench.waitFor(service_id, 'READY')
  const took_ms = await timed(() =>
    Promise.all(
      service_ids.map((service_id, at) => move(bench, service_id, 'attachToVPC', { vpc_id: vpc_ids[at] ?? '' })),
    ),
  )
  printFigures(`${many} services, each into a VPC of its own, at once`, [
    { what: 'attach → READY, the last', ours: `${(took_ms / 1000).toFixed(1)} s` },
  ])
}

async function newVpc(bench: Bench, at: number): Promise<string> {
  const made = await post(bench, 'vpcs', { name: `bench ${at}`, cidr: `10.77.${at}.0/24`, region_code: 'local' })
  return String(made.id)
}

async function newSubject(bench: Bench, own: string): Promise<Subject> {
  const { service_id, initial_password, endpoint: home } = await bench.createService('bench', unlimited)
  if (initial_password === undefined || home === undefined) throw new Error('the answer has no password or no endpoint')
  await bench.waitFor(service_id, 'READY')
  const ca = await (await fetch(`${bench.url}/ca.pem`)).text()
  // Once, to learn the address: a VPC gives its lowest free one, so it is the same every time.
  await move(bench, service_id, 'attachToVPC', { vpc_id: own })
  await move(bench, service_id, 'detachFromVPC', {})
  return { service_id, password: initial_password, ca, home, inside: { host: '10.77.0.2', port: 5432 } }
}

async function move(bench: Bench, service_id: string, verb: 'attachToVPC' | 'detachFromVPC', body: object) {
  await post(bench, `services/${service_id}/${verb}`, body)
  await bench.waitFor(service_id, 'READY')
}

async function post({ url, token, project_id }: Bench, path: string, body: object): Promise<{ id?: string }> {
  const answer = await fetch(`${url}/projects/${project_id}/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as { id?: string } // a VPC, a peering or a message
}

/** Runs the client on the host, or inside a VPC. `trying`: it has begun; `answer`: the last line that it printed. */
function begin({ data_dir }: Bench, vpc_id: string | undefined, order: Order) {
  const installation_id = readFileSync(join(data_dir, 'installation-id'), 'utf8').trim()
  const place = { installation_id, directory: join(data_dir, 'local') }
  const prefix = vpc_id === undefined ? [] : namespaceAt(place, vpc_id).enter
  const client = join(import.meta.dirname, 'vpc-client.ts')
  const [program, ...args] = [...prefix, process.execPath, '--disable-warning=ExperimentalWarning', client]
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(order))
  let last = ''
  const lines = createInterface({ input: child.stdout }).on('line', (line) => {
    last = line
  })
  const answer = once(child, 'close').then(() => {
    if (child.exitCode !== 0) throw new Error('the client failed')
    return last
  })
  return { trying: once(lines, 'line'), answer }
}
