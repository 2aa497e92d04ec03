// A program that has the terminal in place of this command, and tells it its end.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { CommandError } from './command.ts'

type Environment = Record<string, string | undefined>

/** Its exit code, as a shell says it. `missing`: what is said when there is no such program. */
export async function runInForeground(
  [program = '', ...args]: readonly string[],
  { env, missing }: { env: Environment; missing: string },
): Promise<number> {
  // Howdah's own cache of compiled code is nothing for other programs.
  const child = spawn(program, args, { stdio: 'inherit', env: { ...env, NODE_COMPILE_CACHE: undefined } })
  // The terminal sends its signals to the program as well, and the program decides what they mean.
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) process.on(signal, () => undefined)
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void child.kill(signal))
  try {
    await once(child, 'exit')
  } catch (error) {
    throw new CommandError(missing, { cause: error })
  }
  return child.exitCode ?? 128 + (child.signalCode === null ? 0 : constants.signals[child.signalCode])
}
