// The program behind the crash tests of replicas: one provider in a process of its own, which applies one wanted service
// until it is settled. It kills itself with SIGKILL right before the first effect of a given name. On standard output, one
// line each, the names of the effects so far, but for those that only a service to come has need of.
import { writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { openLocalProvider, type LocalOptions } from '#providers/local/local.ts'
import type { WantedService } from '#providers/provider.ts'

export type ApplyInput = {
  options: Pick<LocalOptions, 'directory' | 'installation_id'>
  wanted: WantedService
  kill_at: string | undefined
}

const look_again_ms_max = 100

const { options, wanted, kill_at } = JSON.parse(process.argv[2] ?? '') as ApplyInput // given by the test
const provider = await openLocalProvider({
  host: '127.0.0.1',
  ports: { first: 20_000, last: 32_000 },
  postgres_directories: [],
  log: () => undefined,
  ...options,
  effect: (name) => {
    if (name === kill_at) process.kill(process.pid, 'SIGKILL')
    if (!name.includes('spare')) writeSync(1, `${name}\n`)
  },
})
for (;;) {
  const { settled, look_again_seconds = 1 } = await provider.service.apply(wanted)
  if (settled) break
  await pause(Math.min(look_again_ms_max, look_again_seconds * 1000))
}
await provider.close()
