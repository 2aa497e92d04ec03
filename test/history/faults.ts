// The ways in which a service with replicas is broken while clients write. Each only breaks; that everything comes back is
// for the history to find out.
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { until } from '#test/until.ts'
import type { Nodes } from './nodes.ts'
import type { Writers } from './writers.ts'

export type Broken = {
  nodes: Nodes
  writers: Writers
  /** A number below a bound, by the seed. */
  chance: (below: number) => number
  /** kill -9, and another one on the same data. */
  killServer: (meanwhile?: () => void) => Promise<void>
  /** A request about the service; its path is below the service's own. */
  post: (path: string, body?: object) => Promise<string>
  remove: (service_id: string) => Promise<void>
}

export const faults = {
  'kill the primary': async ({ nodes }) => kill(nodes.postmaster(nodes.primary())),

  'kill a backend': async ({ nodes, chance }) => kill(oneOf(nodes.backends(nodes.primary()), chance)),

  'kill a replica': async ({ nodes, chance }) => kill(nodes.postmaster(oneOf(nodes.standbys(), chance) ?? -1)),

  'kill the server': async ({ killServer }) => await killServer(),

  'kill server and primary': async ({ nodes, killServer }) =>
    await killServer(() => kill(nodes.postmaster(nodes.primary()))),

  'kill primary and replica': async ({ nodes, chance }) => {
    kill(nodes.postmaster(oneOf(nodes.standbys(), chance) ?? -1))
    kill(nodes.postmaster(nodes.primary()))
  },

  'move the data away': async ({ nodes }) => {
    const node = nodes.primary()
    const lost = join(nodes.home, `lost-${node}`)
    await rm(lost, { recursive: true, force: true })
    await rename(nodes.dataOf(node), lost)
    await until(() => nodes.primary() !== node, { what: 'another node is primary' })
  },

  'two in a row': async ({ nodes, writers }) => {
    const first = nodes.primary()
    kill(nodes.postmaster(first))
    await until(() => nodes.primary() !== first, { interval_ms: 5, what: 'another node is primary' })
    await writers.untilAcknowledged()
    kill(nodes.postmaster(nodes.primary()))
  },

  'two at once': async ({ nodes }) => {
    const first = nodes.primary()
    kill(nodes.postmaster(first))
    // The next one too, as early as it can be met.
    await until(() => nodes.primary() !== first && nodes.postmaster(nodes.primary()) !== undefined, { interval_ms: 1 })
    kill(nodes.postmaster(nodes.primary()))
  },

  switchover: async ({ post }) => void (await post('/switchover')),

  'snapshot and kill': async ({ nodes, post, chance }) => {
    await post('/snapshots')
    await until(() => chance(4) === 0)
    kill(nodes.postmaster(nodes.primary()))
  },

  'fork and kill': async ({ nodes, post, chance, remove }) => {
    const fork = await post('/forkService', { fork_strategy: 'NOW' })
    await until(() => chance(4) === 0)
    kill(nodes.postmaster(nodes.primary()))
    await remove(fork)
  },

  'kill the relay': async ({ nodes, writers }) => {
    await untilRelayed(nodes, writers)
    kill(nodes.relay())
  },

  'stop the relay': async ({ nodes, writers }) => {
    await untilRelayed(nodes, writers)
    signal(nodes.relay(), 'SIGSTOP')
  },

  'kill relay and primary': async ({ nodes, writers }) => {
    await untilRelayed(nodes, writers)
    kill(nodes.relay())
    kill(nodes.postmaster(nodes.primary()))
  },

  'kill the store': async ({ nodes }) => kill(nodes.store()[0]),

  'kill primary and store': async ({ nodes }) => {
    kill(nodes.store()[0])
    kill(nodes.postmaster(nodes.primary()))
  },

  'kill primary while the store hangs': async ({ nodes, writers }) => {
    const hung = nodes.store()
    for (const pid of hung) signal(pid, 'SIGSTOP')
    try {
      kill(nodes.postmaster(nodes.primary()))
      await writers.untilAcknowledged()
    } finally {
      for (const pid of hung) signal(pid, 'SIGCONT')
    }
  },

  'stop the primary': async ({ nodes, chance }) => {
    const [postmaster, ...others] = nodes.processes(nodes.primary())
    // Sometimes only the postmaster: the others go on writing.
    for (const pid of chance(2) === 0 ? [postmaster, ...others] : [postmaster]) signal(pid, 'SIGSTOP')
  },
} as const satisfies Record<string, (broken: Broken) => Promise<void>>

export type FaultKind = keyof typeof faults

/** There is a relay only after a failover. */
async function untilRelayed(nodes: Nodes, writers: Writers): Promise<void> {
  if (nodes.relay() !== undefined) return
  kill(nodes.postmaster(nodes.primary()))
  await writers.untilAcknowledged()
}

function kill(pid: number | undefined): void {
  signal(pid, 'SIGKILL')
}

function signal(pid: number | undefined, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(pid, name)
  } catch {
    // It has just ended by itself.
  }
}

function oneOf<T>(values: readonly T[], chance: (below: number) => number): T | undefined {
  return values[chance(Math.max(1, values.length))]
}
