// How a command ends: with an exit code, and where something went wrong with one line that says what. A stack is never shown.
import { CommandError, exit_codes, UsageError } from './command.ts'
import { messageOf, visibleAt } from './visible.ts'

export async function exitCodeOf(run: Promise<void | number>): Promise<number> {
  try {
    return (await run) ?? exit_codes.done
  } catch (error) {
    console.error(visibleAt(process.stderr, `howdah: ${messageOf(error)}`))
    if (error instanceof CommandError) return error.exit_code
    const is_usage = error instanceof UsageError || (error instanceof Error && error.name === 'ConfigError')
    return is_usage ? exit_codes.usage : exit_codes.failed
  }
}
