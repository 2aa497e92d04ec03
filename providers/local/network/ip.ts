// iproute2's programs, by which networks of this host are read and changed. Many lines go to one process, because
// processes are dear. It knows the form of the answers, not their meaning.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { messageOf } from '../../host/message.ts'
import { isHostRoot } from '../../host/privilege.ts'
import { system_env } from '../../host/program.ts'
import { own_root, shell, unshare_words } from './owner-process.ts'
import type { Namespace } from './namespace.ts'

/** Only a kernel in trouble takes this long. */
const timeout_ms = 10_000
const answer_bytes_max = 64 * 1024 ** 2

type IpLink = {
  ifname: string
  flags: readonly string[]
  addr_info: readonly { family: string; local: string; prefixlen: number }[]
}
export type IpRoute = {
  type?: string
  dst: string
  dev?: string
  metric?: number
  gateway?: string
  nexthops?: readonly { gateway?: string }[]
}
type IpRule = { priority: number; action?: string }

/** Changes a namespace, or the host where none is named, line by line; it stops at the first line that fails. */
export async function changeNetwork(namespace: Namespace | undefined, lines: readonly string[]): Promise<void> {
  await run([...ipIn(namespace), '-batch', '-'], lines)
}

export async function makeNamespace({ name, manage }: Namespace): Promise<void> {
  await run([...manage, 'ip', 'netns', 'add', name])
}

/** Removes the name; the namespace itself stays for as long as a process is in it. */
export async function removeNamespace({ name, manage }: Namespace): Promise<void> {
  await run([...manage, 'ip', 'netns', 'delete', name])
}

export async function listIn(namespace: Namespace): Promise<{ links: IpLink[]; routes: IpRoute[]; rules: IpRule[] }> {
  const lines = ['address show', 'route show', 'rule show']
  const [links = [], routes = [], rules = []] = await ask([...ipIn(namespace), '-j'], lines)
  // iproute2's own form.
  return { links: links as IpLink[], routes: routes as IpRoute[], rules: rules as IpRule[] }
}

/** The unreachable routes of the host with this mark. */
export async function listUnreachable(protocol: string): Promise<IpRoute[]> {
  const [routes = []] = await ask(['ip', '-j', '-4'], [`route show type unreachable proto ${protocol}`])
  return routes as IpRoute[] // iproute2's own form
}

/** The routes of the host, those to its own addresses and the default ones included. */
export async function listRoutes(): Promise<IpRoute[]> {
  return (await ask(['ip', '-j', '-4'], ['route show table all'])).flat() as IpRoute[] // iproute2's own form
}

/** Closes the TCP connections of a namespace with a range, as far as the kernel can; both programs get an error. */
export async function closeConnections({ change }: Namespace, cidr: string): Promise<void> {
  await run([...change, 'ss', '-K', '-t', '-H', 'dst', cidr])
}

/** Tries what VPCs need, in namespaces that end with the process in them. Throws the first failure. */
export async function tryNetworks(): Promise<void> {
  const links =
    'ip link add vpc0 type bridge && ip link add try0 type veth peer name try1 && ip rule add not iif lo unreachable'
  const named = `${own_root} && ip netns add try && nsenter --net=/run/netns/try ip link show && unshare --user --map-user=1 true`
  if (isHostRoot()) await run(['unshare', '--net', '--', ...shell, links])
  else await run([...unshare_words, ...shell, `${links} && ${named}`])
}

/**
 * Whether this kernel closes connections of other processes on request; without it a peer that became unreachable is noticed by a timeout only.
 * Tried on a connection of a port with itself, which is what a client gets where there is no other port.
 */
export async function canCloseConnections(): Promise<boolean> {
  const connect =
    'ip link set lo up && echo 40000 40000 > /proc/sys/net/ipv4/ip_local_port_range && exec 3<>/dev/tcp/127.0.0.1/40000'
  const script = `${connect} && ss -K -t -H dst 127.0.0.1 > /dev/null && ss -t -H state established`
  const unshare = isHostRoot() ? ['unshare', '--net', '--'] : unshare_words
  return (await run([...unshare, ...shell, script]).catch(() => 'not even tried')) === ''
}

async function ask(command: readonly string[], lines: readonly string[]): Promise<unknown[]> {
  const answers = (await run([...command, '-batch', '-'], lines)).split('\n').filter(Boolean)
  return answers.map((answer): unknown => JSON.parse(answer))
}

function ipIn(namespace: Namespace | undefined): string[] {
  return namespace === undefined ? ['ip'] : [...namespace.change, 'ip']
}

async function run(command: readonly string[], lines: readonly string[] = []): Promise<string> {
  const [program = '', ...args] = command
  const running = promisify(execFile)(program, args, {
    env: system_env,
    cwd: '/',
    timeout: timeout_ms,
    maxBuffer: answer_bytes_max,
  })
  // A program that fails at once does not read on; its own failure is the one to tell.
  running.child.stdin?.on('error', () => undefined).end(lines.map((line) => `${line}\n`).join(''))
  try {
    return (await running).stdout
  } catch (error) {
    throw new Error(`${program}: ${reasonOf(error, lines)}`, { cause: error })
  }
}

/** The first line that the program printed, and the input line that it was about. */
function reasonOf(error: unknown, lines: readonly string[]): string {
  const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
  if (said === '') return messageOf(error)
  const line = lines[Number(/^Command failed -:(\d+)/m.exec(said)?.[1]) - 1]
  return `${said.split('\n')[0]}${line === undefined ? '' : ` (${line})`}`
}
