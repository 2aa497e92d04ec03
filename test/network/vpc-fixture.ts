// What the network tests share: VPCs of a fresh world, programs run inside them, and the removal of all of it, also after
// a failure. Their names belong to the world's own installation id, so networks of other installations are never touched.
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { metricOf, namespaceOf } from '#providers/local/network/name.ts'
import { namespaceAt } from '#providers/local/network/namespace.ts'
import type { LocalProvider } from '#providers/local/local.ts'
import type { ObservedVpc, WantedPeer, WantedService, WantedVpc } from '#providers/provider.ts'
import { as_root, type World } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'

/** Why these tests cannot run, as a part of their names; empty when they can. */
export const why_no_networks = as_root ? '' : ' (skipped: only root makes networks)'

export function newVpc(vpc_id: string, cidr: string, peers: readonly WantedVpc[] = []): WantedVpc {
  return { vpc_id, cidr, deleted: false, peers: peers.map((peer) => peerOf(vpc_id, peer)) }
}

const peerOf = (own: string, { vpc_id, cidr }: WantedVpc): WantedPeer => ({
  peering_id: [own, vpc_id].toSorted().join(''),
  vpc_id,
  cidr,
})

export async function settleVpc(provider: LocalProvider, wanted: WantedVpc): Promise<ObservedVpc> {
  const what = `VPC ${wanted.vpc_id} settles`
  return await until(
    async () => {
      const observed = await provider.vpc.apply(wanted)
      if (!observed.settled) throw new Error(observed.waiting_for)
      return observed
    },
    { what },
  )
}

/** Runs a program in the VPC and returns what it printed. */
export async function runIn(world: World, vpc_id: string, command: readonly string[]): Promise<string> {
  const [program = '', ...args] = [...namespaceAt(world, vpc_id).enter, ...command]
  return (await promisify(execFile)(program, args)).stdout
}

export type Session = {
  /** The first value of the answer, or `error: <what>`. */
  ask(sql: string): Promise<string>
  /** How the connection broke, once it has. */
  broken: Promise<string>
  end(): void
}

/** At this address of the VPC. */
export const inVpc = (vpc_id: string, host: string) => ({ vpc_id, reach: { host, port: 5432 } })

/** A login as a customer's program inside the VPC makes it: TLS, verified by the address. Fails with the reason. */
export async function loginIn(
  world: World,
  provider: LocalProvider,
  vpc_id: string,
  { reach }: Pick<WantedService, 'reach'>,
): Promise<Session> {
  const client = new URL('vpc-client.ts', import.meta.url).pathname
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', client, reach.host]
  const [program = '', ...args] = [...namespaceAt(world, vpc_id).enter, ...node]
  const child = spawn(program, args, {
    env: { ...process.env, AUTHORITY: provider.authority_pem },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = linesOf(child)
  const first = await lines.next()
  if (first !== 'connected') {
    child.kill('SIGKILL')
    throw new Error(first)
  }
  return {
    async ask(sql) {
      child.stdin?.write(`${sql}\n`)
      return await lines.next()
    },
    broken: once(child, 'exit').then(() => lines.all.findLast((line) => line.startsWith('broken: ')) ?? 'no reason'),
    end: () => void child.kill('SIGKILL'),
  }
}

export async function askIn(
  world: World,
  provider: LocalProvider,
  vpc_id: string,
  wanted: Pick<WantedService, 'reach'>,
  sql: string,
) {
  const session = await loginIn(world, provider, vpc_id, wanted)
  const answer = await session.ask(sql)
  session.end()
  return answer
}

/** The namespaces and host routes of the world: what is on the host because of it. */
export function tracesOf(world: World, vpc_ids: readonly string[]): string[] {
  const namespaces = readdirSync('/run/netns').filter((name) => name.startsWith(`howdah-${world.installation_id}-`))
  const routes = execFileSync('ip', ['route', 'show', 'type', 'unreachable'], { encoding: 'utf8' }).split('\n')
  const metrics = vpc_ids.map((vpc_id) => `metric ${metricOf(world, vpc_id)}`)
  return [...namespaces, ...routes.filter((route) => metrics.some((metric) => route.includes(metric)))]
}

/** The process ids of everything that runs in the VPC's network. */
export function processesIn(world: World, vpc_id: string): string[] {
  const pids = execFileSync('ip', ['netns', 'pids', namespaceOf(world, vpc_id)], { encoding: 'utf8' })
  return pids.split('\n').filter(Boolean)
}

function linesOf(child: ChildProcess) {
  const all: string[] = []
  let rest = ''
  let taken = 0
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop() ?? ''
    all.push(...parts)
  })
  const next = async () => {
    await until(() => all.length > taken || child.exitCode !== null, { what: 'the program in the VPC answers' })
    return all[taken++] ?? 'the program in the VPC has ended'
  }
  return { all, next }
}
