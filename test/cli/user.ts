// A user's command within the test's own process: what it prints on both streams, and its exit code. The session comes from the
// environment, as a test sets it.
import { CommandError, exit_codes, UsageError } from '#cli/command.ts'
import { unknownCommand } from '#cli/help.ts'
import { findUserCommand, runUserCommand, user_commands } from '#cli/user/main.ts'
import type { Terminal } from '#cli/user/terminal.ts'
import type { Finished } from '#test/e2e/howdah.ts'

/** answers: what a person types, one for each question; without any there is no terminal. */
export async function howdahHere(words: readonly string[], answers?: readonly string[]): Promise<Finished> {
  let stdout = ''
  let stderr = ''
  const left = [...(answers ?? [])]
  const terminal: Terminal = {
    print: (text) => {
      stdout += text.endsWith('\n') ? text : `${text}\n`
    },
    say: (text) => {
      stderr += `${text}\n`
    },
    progress: () => undefined,
    is_live: false,
    may_ask: answers !== undefined,
    columns: undefined,
    coloured: (status) => status,
    ask: async (question) => {
      stderr += question
      return left.shift() ?? ''
    },
  }
  try {
    const found = findUserCommand(words)
    if (found === undefined) throw unknownCommand(words, user_commands)
    const around = {
      version: '0',
      command: '/opt/howdah/bin/howdah',
      findLocalServer: async () => undefined,
      openTerminal: () => terminal,
    }
    const code = (await runUserCommand(found.command, found.rest, around)) ?? exit_codes.done
    return { code, stdout, stderr }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const code = error instanceof CommandError ? error.exit_code : error instanceof UsageError ? exit_codes.usage : -1
    return { code, stdout, stderr: `${stderr}howdah: ${message}\n` }
  }
}
