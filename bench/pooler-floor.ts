// A PgBouncer started by hand beside a service's own one: the same program, settings, user and control groups, at another
// port. What it does better than ours is what ours costs.
import { spawn } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseCgroupMounts } from '#providers/local/host/limits.ts'
import { withCleanup } from './cleanup.ts'

const start_wait_ms = 10_000

/** `home`: of the service. Does the work with a pooler at this port. */
export async function withHandMadePooler<T>(
  { home, folder, port }: { home: string; folder: string; port: number },
  work: () => Promise<T>,
): Promise<T> {
  const settings = join(folder, 'hand-made.ini')
  const ours = readFileSync(join(home, 'pooler.ini'), 'utf8')
  writeFileSync(settings, ours.replace(/^listen_port = .*$/m, `listen_port = ${port}`).replace(/^pidfile = .*$/m, ''))
  const pid = Number(readFileSync(join(home, 'pooler', 'pid'), 'utf8'))
  const [program = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  const { uid, gid } = statSync(`/proc/${pid}`)
  const join_groups = groupFilesOf(pid).map((file) => `echo $$ > '${file}'; `)
  const drop = process.getuid?.() === 0 ? `setpriv --reuid ${uid} --regid ${gid} --clear-groups ` : ''
  const child = spawn('/bin/sh', ['-c', `${join_groups.join('')}exec ${drop}"$@"`, 'sh', program, settings], {
    stdio: 'ignore',
  })
  return await withCleanup(
    () => void child.kill('SIGKILL'),
    async () => {
      await untilListening(port)
      return await work()
    },
  )
}

/** Of the groups that limit it. */
function groupFilesOf(pid: number): string[] {
  const mounts = parseCgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8'))
  return readFileSync(`/proc/${pid}/cgroup`, 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .filter(([, , path]) => path?.includes('/howdah-'))
    .map(([, controllers = '', path = '']) => {
      const mount = controllers === '' ? mounts.v2 : mounts.v1.get(controllers.split(',')[0] ?? '')
      return join(mount ?? '', path, 'cgroup.procs')
    })
}

async function untilListening(port: number): Promise<void> {
  for (const deadline = Date.now() + start_wait_ms; Date.now() < deadline; await pause(20)) {
    const socket = connect({ host: '127.0.0.1', port })
    const listens = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    if (listens) return
  }
  throw new Error(`the hand-made pooler does not listen at port ${port}`)
}
