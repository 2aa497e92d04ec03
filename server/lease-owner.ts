// Names this process so that another one on the same host can tell whether it still lives: boot, process namespace,
// process id and its start time. A name from elsewhere is never judged: its leases lapse by themselves.
import { readFileSync, readlinkSync } from 'node:fs'

export function leaseOwner(): string {
  return [...hostParts(), process.pid, startTime(process.pid)].join('/')
}

/** True only when the named process ran on this host and is certainly gone. */
export function ownerIsDead(owner: string): boolean {
  const [boot, namespace, pid, started] = owner.split('/')
  const [own_boot, own_namespace] = hostParts()
  if (boot !== own_boot || namespace !== own_namespace) return false
  return startTime(Number(pid)) !== started
}

function hostParts(): [string, string] {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  return [boot, readlinkSync('/proc/self/ns/pid')]
}

function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // Fields after the command name, which may itself hold blanks and brackets: state is the 1st, start time the 20th.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? undefined : fields[19]
  } catch {
    return undefined
  }
}
