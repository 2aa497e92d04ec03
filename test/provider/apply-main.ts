// The program behind test/provider/apply.ts: a provider that makes true what is wanted and dies by SIGKILL right before the effect that
// it is told, or else ends well. Its task comes on standard input; on standard output, one line each, the effects so far.
import { writeSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { text } from 'node:stream/consumers'
import { openLocalProvider } from '#providers/local/local.ts'
import { applyAll, type Task } from './apply.ts'

const { options, spec, doom } = JSON.parse(await text(process.stdin)) as Task // written by apply.ts
// Compiled code is kept when a process ends by itself, which these seldom do: the next one need not compile again.
flushCompileCache()
let left = doom?.nth ?? 0
const provider = await openLocalProvider({
  host: '127.0.0.1',
  postgres_directories: [],
  log: () => undefined,
  ...options,
  effect: (name) => {
    if (name === doom?.effect && --left === 0) process.kill(process.pid, 'SIGKILL')
    // Synchronously: a line printed before a kill is not lost.
    writeSync(1, `${name}\n`)
  },
})
await applyAll(provider, spec)
await provider.close()
