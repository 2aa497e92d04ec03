// The program behind rig-kill.ts: a provider of the rig that makes a service as it is wanted, and dies by SIGKILL right before its nth
// effect, or else ends well. Its task comes on standard input; on standard output, one line each, the effects so far.
import { writeSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { openKubernetesProvider } from '#providers/kubernetes/kubernetes.ts'
import { parseAuthority } from '#providers/postgres/certificate.ts'
import type { WantedService } from '#providers/provider.ts'
import { until } from '#test/until.ts'
import { type Rig, rig_settings } from './rig-region.ts'

/** `nth`: from 1. */
export type Task = Rig['task'] & { wanted: WantedService; nth: number }

const { wanted, nth, pair, ...options } = JSON.parse(await text(process.stdin)) as Task // written by rig-kill.ts
const authority = await parseAuthority(pair)
if (authority === undefined) throw new Error('the authority of the rig is whole')
let left = nth
const provider = await openKubernetesProvider({
  ...options,
  region: 'rig',
  authority,
  settings: rig_settings,
  log: () => undefined,
  effect: (name) => {
    // Synchronously: a line printed before a kill is not lost.
    writeSync(1, `${name}\n`)
    if (--left === 0) process.kill(process.pid, 'SIGKILL')
  },
})
await until(() => provider.facts().postgres_versions.length > 0, { what: 'the facts are read' })
await until(async () => (await provider.service.apply(wanted)).settled, { what: 'it settles', interval_ms: 300 })
await provider.close()
