// The part of bench/start.ts for `--after-kill`: many services, a kill -9 of the server, its store and all databases at once, and a new
// server. When it answers, which services it calls READY although a connection is refused, and when all of them serve again.
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Service } from '#contract/service.ts'
import { signalIfThere } from '#providers/host/daemon.ts'
import { listPids } from '#test/data-dir.ts'
import { startHowdah } from '#test/e2e/howdah.ts'
import { atMost, printFigures } from './figures.ts'
import { type Bench, createMany, withHowdah } from './howdah.ts'
import type { Place } from './place.ts'

const poll_every_ms = 100
const deadline_ms = 300_000
const lie_seconds_goal = 1
const all_seconds_goal = 60

export async function afterKill({ folder, description, services }: Place): Promise<void> {
  await withHowdah(join(folder, 'howdah'), async (bench) => {
    await createMany(bench, services)
    for (const pid of listPids(bench.data_dir)) signalIfThere(pid, 'SIGKILL')
    const began = performance.now()
    const server = await startHowdah(['--data-dir', bench.data_dir, '--rate-limit', '0'])
    try {
      const up_ms = performance.now() - began
      const { lie_ms, all_ms } = await watch(listOf(bench, server.url), services)
      printFigures(`start after a kill of everything, ${services} services on ${description}`, [
        { what: 'start → the server answers', ours: seconds(up_ms) },
        {
          what: 'longest time that a service was READY and refused connections',
          ours: seconds(lie_ms),
          goal: atMost(lie_seconds_goal, lie_ms / 1000, ' s'),
        },
        {
          what: 'start → all services serve',
          ours: seconds(up_ms + all_ms),
          goal: atMost(all_seconds_goal, (up_ms + all_ms) / 1000, ' s'),
        },
      ])
    } finally {
      await server.end()
    }
  })
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

function listOf({ token, project_id }: Bench, url: string): () => Promise<Service[]> {
  const headers = { authorization: `Bearer ${token}` }
  return async () => {
    const answer = await fetch(`${url}/projects/${project_id}/services`, { headers })
    // The server's answers are checked against the contract by its tests; a bench believes them.
    return answer.ok ? ((await answer.json()) as Service[]) : []
  }
}

/** From the first answer on, until all are READY and take connections. */
async function watch(list: () => Promise<Service[]>, count: number) {
  const began = performance.now()
  const lies_since = new Map<string, number>()
  let lie_ms = 0
  for (; performance.now() - began < deadline_ms; await pause(poll_every_ms)) {
    const ready = (await list()).filter(({ status }) => status === 'READY')
    const open = await Promise.all(ready.map(({ endpoint }) => takesConnections(endpoint)))
    for (const [at, { service_id }] of ready.entries()) {
      if (open[at]) lies_since.delete(service_id)
      else lies_since.set(service_id, lies_since.get(service_id) ?? performance.now())
    }
    for (const since of lies_since.values()) lie_ms = Math.max(lie_ms, performance.now() - since)
    if (ready.length === count && open.every(Boolean)) return { lie_ms, all_ms: performance.now() - began }
  }
  throw new Error(`not all services serve after ${seconds(deadline_ms)}`)
}

function takesConnections(endpoint: Service['endpoint']): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: endpoint?.host ?? '127.0.0.1', port: endpoint?.port ?? 0 })
    const end = (taken: boolean) => {
      socket.destroy()
      resolve(taken)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
}
