// The program that test/network/kill.test.ts kills: a provider that applies VPCs and services until they hold, printing
// every effect. It dies by SIGKILL right before the effect that it is told, and else ends well.
import { writeSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { openLocalProvider } from '#providers/local/local.ts'
import type { WantedService, WantedVpc } from '#providers/provider.ts'
import { until } from '#test/until.ts'

export type Task = {
  directory: string
  installation_id: string
  vpcs: readonly WantedVpc[]
  services: readonly WantedService[]
  kill_at?: { effect: string; nth: number }
}

const task = JSON.parse(await text(process.stdin)) as Task // written by kill.test.ts
let left = task.kill_at?.nth ?? 0
const provider = await openLocalProvider({
  directory: task.directory,
  installation_id: task.installation_id,
  host: '127.0.0.1',
  ports: { first: 20_000, last: 32_000 },
  postgres_directories: [],
  log: () => undefined,
  effect: (name) => {
    if (name === task.kill_at?.effect && --left === 0) process.kill(process.pid, 'SIGKILL')
    // Synchronously: what was said before a kill has been said.
    writeSync(1, `${name}\n`)
  },
})
// One after the other, in rounds: a peer waits for the other's network.
await until(async () => {
  let settled = true
  for (const vpc of task.vpcs) settled = (await provider.vpc.apply(vpc)).settled && settled
  return settled
})
for (const service of task.services) await until(async () => (await provider.service.apply(service)).settled)
await provider.close()
