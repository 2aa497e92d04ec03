// The process that owns the networks of an ordinary user: an own user namespace, in which that user may make networks, and an
// own root, in whose /run iproute2 keeps them. It only sleeps, and outlives the server. When it dies, the networks are removed with it
// and made again like any that were removed by hand. Root needs none.
// A mount namespace is a copy of the mount table and keeps every file system in it busy, also after the host has unmounted it. So
// it goes into a root of its own, which has the folders of programs and nothing else of the host's.
import { spawn } from 'node:child_process'
import { readlink, rename, rm, symlink } from 'node:fs/promises'
import { commandOf, findStarted, killProcesses } from '../../host/daemon.ts'
import { ensureRemoved, type Effect } from '../host/effect.ts'
import { statIfThere } from '../../host/read.ts'
import { isHostRoot, mayGiveUsers } from '../../host/privilege.ts'
import { system_env } from '../../host/program.ts'
import { ownerProcessOf } from './namespace.ts'

export type NetworksOwner = { ensure(): Promise<void>; end(): Promise<void> }

type OwnerHost = { directory: string; effect: Effect }

const poll_every_ms = 3
const start_wait_ms = 5_000
const end_wait_ms = 5_000

/** Without the user's own shell files, which bash reads where its input is a socket, as from us. */
export const shell = ['bash', '--norc', '-c'] as const
/** What an ordinary user needs to make networks. An isolated installation is in a user namespace already. */
const as_root_inside = mayGiveUsers() ? [] : ['--user', '--map-root-user']
export const unshare_words = ['unshare', ...as_root_inside, '--mount', '--net', '--']
export const own_root = [
  'mount -t tmpfs howdah /run && cd /run && mkdir -p usr proc etc var run/netns old && ln -s /run var/run',
  'mount --rbind /usr usr && mount --rbind /proc proc',
  // Links into /usr on most hosts; what the linker knows beyond them is in its cache.
  'for f in bin sbin lib lib32 lib64 libx32; do if test -L /$f; then cp -P /$f .; elif test -d /$f; then mkdir $f && mount --rbind /$f $f; fi || exit; done',
  '{ test ! -e /etc/ld.so.cache || cp /etc/ld.so.cache etc; }',
  'pivot_root . old && umount -l old && cd /',
].join(' && ')

export function newNetworksOwner(host: OwnerHost): NetworksOwner {
  let under_way: Promise<void> | undefined
  if (isHostRoot()) return { ensure: async () => {}, end: async () => {} }
  return {
    // Passes over VPCs run side by side, and all need the same process.
    ensure: () => (under_way ??= ensureOwnerProcess(host).finally(() => (under_way = undefined))),
    end: () => endOwnerProcesses(host),
  }
}

async function ensureOwnerProcess(host: OwnerHost): Promise<void> {
  const link = ownerProcessOf(host)
  const linked = Number((await readlink(link).catch(() => '')).replace('/proc/', ''))
  if (linked && (await isOwnerProcess(host, linked))) return
  // Of a server that died after spawning it and before making the link.
  await endOwnerProcesses(host)
  await host.effect('networks owner: spawn')
  const pid = await spawnOwnerProcess(host)
  await host.effect('networks owner: link')
  await rm(`${link}.new`, { force: true })
  await symlink(`/proc/${pid}`, `${link}.new`)
  await rename(`${link}.new`, link)
}

async function spawnOwnerProcess(host: OwnerHost): Promise<number> {
  const script = `${own_root} && exec -a "$0" sleep infinity`
  const [program, ...args] = [...unshare_words, ...shell, script, titleOf(host)]
  const child = spawn(program, args, { cwd: '/', env: system_env, detached: true, stdio: 'ignore' })
  const findIt = async () =>
    child.pid !== undefined && (await isOwnerProcess(host, child.pid)) ? child.pid : undefined
  const started = await findStarted(child, findIt, { wait_ms: start_wait_ms, poll_ms: poll_every_ms })
  if (typeof started === 'number') return started
  throw new Error('the process that holds the networks of the VPCs did not start', { cause: started })
}

async function endOwnerProcesses(host: OwnerHost): Promise<void> {
  const belongs = async (pid: number) => (await commandOf(pid)).includes(titleOf(host)) && (await isOfOurUser(pid))
  const end = { what: 'networks owner: kill', whose: 'the networks', wait_ms: end_wait_ms }
  await killProcesses(host.effect, belongs, end)
  await ensureRemoved(host.effect, 'networks owner link', ownerProcessOf(host))
}

/** It takes this name when it is set up. */
async function isOwnerProcess(host: OwnerHost, pid: number): Promise<boolean> {
  return (await commandOf(pid))[0] === titleOf(host) && (await isOfOurUser(pid))
}

/** Any user can give a process this name. */
async function isOfOurUser(pid: number): Promise<boolean> {
  return (await statIfThere(`/proc/${pid}`))?.uid === process.getuid?.()
}

const titleOf = ({ directory }: Pick<OwnerHost, 'directory'>) => `howdah-networks-of:${directory}`
