// A user's commands on a machine where no server is installed: what is bundled for the action. There is no operator's world here.
import { CommandError, exit_codes, UsageError } from '../command.ts'
import { findUserCommand, runUserCommand, unknownCommand, user_commands } from './main.ts'
import { openTerminal } from './terminal.ts'

export async function runAlone(words: readonly string[], version: string): Promise<number> {
  try {
    const found = findUserCommand(words)
    if (found === undefined) throw unknownCommand(words, user_commands)
    const around = { version, findLocalServer: async () => undefined, openTerminal }
    return (await runUserCommand(found.command, found.rest, around)) ?? exit_codes.done
  } catch (error) {
    console.error(`howdah: ${error instanceof Error ? error.message : String(error)}`)
    if (error instanceof CommandError) return error.exit_code
    return error instanceof UsageError ? exit_codes.usage : exit_codes.failed
  }
}
