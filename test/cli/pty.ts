// A command at a terminal, by script(1) of util-linux: what is typed goes in when the screen shows what it answers.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { until } from '#test/until.ts'

export const why_no_terminal =
  spawnSync('script', ['--version']).error === undefined ? '' : ' (skipped: script of util-linux is not installed)'

export type AtTerminal = {
  /** Everything on the screen so far, with its control characters. */
  screen(): string
  /** Waits for the text on the screen since the last answer, then types. */
  type(shown: string | RegExp, keys: string): Promise<void>
  exit_code: Promise<number | null>
}

export function atTerminal(command: string, env: Readonly<Record<string, string>>): AtTerminal {
  const child = spawn('script', ['--quiet', '--return', '--flush', '--command', command, '/dev/null'], {
    env: { ...process.env, TERM: 'xterm', CI: '', NO_COLOR: '', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let screen = ''
  let answered = 0
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text
  })
  return {
    screen: () => screen,
    type: async (shown, keys) => {
      const isShown = () => {
        const fresh = screen.slice(answered)
        return typeof shown === 'string' ? fresh.includes(shown) : shown.test(fresh)
      }
      await until(() => isShown() || child.exitCode !== null, { what: `the screen shows ${String(shown)}` })
      if (!isShown()) throw new Error(`the command ended without ${String(shown)}:\n${screen}`)
      answered = screen.length
      child.stdin.write(keys)
    },
    exit_code: once(child, 'close').then(() => child.exitCode),
  }
}
