// The real `howdah` command as child processes: a command that runs to its end, and `howdah start` in the background.
// The machine's own Howdah settings do not leak in: every HOWDAH_… variable and DATABASE_URL is taken out.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileCacheFor } from '#test/compile-cache.ts'
import { readable } from '#test/privileges.ts'
import { until } from '#test/until.ts'

export const repository = join(import.meta.dirname, '..', '..')
const config_home = join(tmpdir(), 'howdah-config')

export type Finished = { code: number | null; stdout: string; stderr: string }

export type Started = {
  pid: number
  /** Base URL of the API. */
  url: string
  /** Everything printed so far, on both streams. */
  output(): string
  /** Sends the signal and waits for the end; the exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>
}

/**
 * prefix: words before the command, such as those that make it run as another user. isEnough: told what it has said on stderr by then,
 * whether it is to end.
 */
export async function howdah(
  words: readonly string[],
  env: NodeJS.ProcessEnv = {},
  prefix: readonly string[] = [],
  isEnough?: (stderr: string) => boolean,
): Promise<Finished> {
  const child = spawnHowdah(words, env, prefix)
  const stdout = collect(child.stdout)
  const stderr = collect(child.stderr)
  if (isEnough) child.stderr.on('data', () => isEnough(stderr()) && child.kill('SIGKILL'))
  await once(child, 'close')
  return { code: child.exitCode, stdout: stdout(), stderr: stderr() }
}

/** Runs `howdah start` on a free port and returns once it has printed all it has to say. */
export async function startHowdah(
  words: readonly string[],
  env: NodeJS.ProcessEnv = {},
  prefix: readonly string[] = [],
): Promise<Started> {
  const child = spawnHowdah(['start', '--port', '0', ...words], env, prefix)
  const stdout = collect(child.stdout)
  const stderr = collect(child.stderr)
  const output = () => stdout() + stderr()
  const end = async (signal: NodeJS.Signals = 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal)
      await once(child, 'exit')
    }
    return child.exitCode
  }
  try {
    await until(() => child.exitCode !== null || output().includes('Ctrl-C'), { what: 'howdah start is up' })
    const url = /http\S+\/public\/api\/v1\b/.exec(output())?.[0]
    if (url === undefined || child.pid === undefined) throw new Error(`howdah start failed:\n${output()}`)
    return { pid: child.pid, url, output, end }
  } catch (error) {
    await end('SIGKILL')
    throw error
  }
}

function spawnHowdah(words: readonly string[], env: NodeJS.ProcessEnv, prefix: readonly string[]) {
  // Another user may not be able to read the clone.
  const here = prefix.length === 0 ? repository : readable(repository)
  const [program = '', ...args] = [...prefix, join(here, 'bin', 'howdah'), ...words]
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('HOWDAH_') && name !== 'DATABASE_URL')
  return spawn(program, args, {
    cwd: here,
    // Its owner's own the command keeps in the clone, other users' nowhere by itself.
    // A first start leaves a login in the user's files, and these tests' user is the developer.
    env: {
      ...Object.fromEntries(own),
      XDG_CONFIG_HOME: config_home,
      NODE_COMPILE_CACHE: compileCacheFor(prefix),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

function collect(stream: NonNullable<ChildProcess['stdout']>): () => string {
  let text = ''
  stream.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  return () => text
}
