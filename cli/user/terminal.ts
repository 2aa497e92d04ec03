// The terminal, or what is there instead of one. Data goes to stdout; progress, hints and questions go to stderr. A question is asked only
// where a person can answer it.
import { createInterface } from 'node:readline/promises'
import { CommandError, exit_codes, type Input, UsageError } from '../command.ts'
import { visible, visibleAt } from '../visible.ts'

export type Terminal = {
  print(text: string): void
  say(text: string): void
  /** In place of the line that was there, on a terminal only. */
  progress(text: string): void
  /** Whether progress is a line that changes. */
  is_live: boolean
  may_ask: boolean
  /** Of stdout; undefined where nothing is cut. */
  columns: number | undefined
  /** A status as word and colour, for stdout. */
  coloured(status: string): string
  ask(question: string): Promise<string>
}

const colours: Readonly<Record<string, number>> = {
  READY: 32,
  active: 32,
  complete: 32,
  UNSTABLE: 31,
  error: 31,
  failed: 31,
  ERROR: 31,
  FATAL: 31,
  PANIC: 31,
  WARNING: 33,
  PAUSED: 90,
  CONFIGURING: 33,
  QUEUED: 33,
  PAUSING: 33,
  RESUMING: 33,
  DELETING: 33,
  creating: 33,
  resizing: 33,
  deleting: 33,
  pending: 33,
}

export function openTerminal(input: Pick<Input, 'isSet'>, env = process.env): Terminal {
  const { stdin, stdout, stderr } = process
  const is_dumb = env['TERM'] === 'dumb'
  const may_colour = stdout.isTTY && !env['NO_COLOR'] && !is_dumb && !input.isSet('no-color')
  const in_colour = Boolean(env['FORCE_COLOR']) || may_colour
  const is_live = stderr.isTTY && !is_dumb && !env['CI']
  return {
    print: (text) => {
      const shown = visibleAt(stdout, text)
      stdout.write(shown.endsWith('\n') ? shown : `${shown}\n`)
    },
    say: (text) => void stderr.write(`${is_live ? '\r\u001b[K' : ''}${visibleAt(stderr, text)}\n`),
    progress: (text) => {
      if (is_live) stderr.write(`\r\u001b[K${visible(text).slice(0, (stderr.columns || 80) - 1)}`)
    },
    is_live,
    may_ask: stdin.isTTY && stderr.isTTY && !env['CI'] && !input.isSet('no-input'),
    columns: stdout.isTTY ? stdout.columns || undefined : undefined,
    coloured: (status) => {
      const colour = colours[status]
      return in_colour && colour !== undefined ? `\u001b[${colour}m${status}\u001b[0m` : status
    },
    ask: async (question) => {
      const reader = createInterface({ input: stdin, output: stderr })
      const end = new AbortController()
      // Ctrl-C and Ctrl-D are answers too.
      reader.on('SIGINT', () => end.abort()).on('close', () => end.abort())
      try {
        return (await reader.question(visibleAt(stderr, question), { signal: end.signal })).trim()
      } catch (error) {
        stderr.write('\n')
        throw new CommandError('nothing was changed', { exit_code: exit_codes.interrupted, cause: error })
      } finally {
        reader.close()
      }
    },
  }
}

/** wanted: what has to be typed. Where there is nothing to ask, the switch has to say it. */
export async function confirm(
  terminal: Terminal,
  input: Pick<Input, 'isSet'>,
  question: string,
  wanted?: string,
): Promise<void> {
  if (input.isSet('yes')) return
  if (!terminal.may_ask) throw new UsageError(`${question} There is no terminal to ask at; --yes says yes`)
  const answer = await terminal.ask(wanted === undefined ? `${question} [y/N] ` : `${question} Type ${wanted}: `)
  const is_yes = wanted === undefined ? /^y(es)?$/i.test(answer) : answer === wanted
  if (!is_yes) throw new UsageError('nothing was changed')
}
