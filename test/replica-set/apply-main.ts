// The program behind kill.test.ts: applies a replica set until it holds, as a server does, and dies by SIGKILL right before
// a chosen effect. On standard output, the name of each effect, one a line. Its orders come in APPLY, as JSON.
import { writeSync } from 'node:fs'
import { openLocalProvider, type LocalOptions } from '#providers/local/local.ts'
import type { WantedReplicaSet } from '#providers/provider.ts'
import { until } from '#test/until.ts'

export type Orders = {
  options: Pick<LocalOptions, 'directory' | 'host' | 'ports' | 'postgres_directories' | 'installation_id'>
  set: WantedReplicaSet
  kill_at?: string
}

const { options, set, kill_at } = JSON.parse(process.env['APPLY'] ?? '') as Orders // written by kill.test.ts

const provider = await openLocalProvider({
  ...options,
  log: () => undefined,
  effect: (name) => {
    if (name === kill_at) process.kill(process.pid, 'SIGKILL')
    // Synchronously: what was said before a kill has been said.
    writeSync(1, `${name}\n`)
  },
})
await until(async () => (await provider.replica_set.apply(set)).settled, {
  what: 'the set settles',
  timeout_ms: 60_000,
})
await provider.close()
