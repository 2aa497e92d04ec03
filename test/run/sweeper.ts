// The program behind test/run/set-up.ts: it waits for the end of its input, which is the end of the runner, and then sweeps the folder
// of the run, which is its TMPDIR.
import { tmpdir } from 'node:os'
import { sweep } from './sweep.ts'

// What is sent to all processes of a terminal or of a session is not meant for it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
for await (const _ of process.stdin);
await sweep(tmpdir())
