// Builds the console where its sources are newer than the last build: in a process of its own that yields to all others, because
// the API answers already. A build that fails is a warning; the API does not mind.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Log } from '../log.ts'

const root = join(import.meta.dirname, '..', '..')
export const build_folder = join(root, 'dist', 'console')
const script = join(root, 'console', 'build.ts')
const said_characters_max = 2_000

export type ConsoleBuild = {
  /** Why there is no console to show, for people. */
  absence(): string
  /** Fulfilled with what went wrong, or with undefined. */
  run(): Promise<string | undefined>
  close(): void
}

export function newConsoleBuild(log: Log): ConsoleBuild {
  let state = 'It was not built: `npm run build` does that.'
  let child: ChildProcess | undefined
  return {
    absence: () => state,
    run: async () => {
      state = 'It is being built, which takes a few seconds.'
      child = spawn(process.execPath, [script, '--if-newer'], { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] })
      const problem = await endOf(child).catch(String)
      if (problem === undefined) return undefined
      state = 'Its build failed; the log of the server says why. `npm run build` tries again.'
      log.warn({ said: problem }, 'the console was not built')
      return problem
    },
    close: () => void child?.kill(),
  }
}

async function endOf(child: ChildProcess): Promise<string | undefined> {
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW)
  const said = child.stderr === null ? '' : text(child.stderr)
  const [code, signal] = await once(child, 'close')
  return code === 0 || signal === 'SIGTERM' ? undefined : (await said).slice(-said_characters_max)
}
