// What becomes of output that cannot be written. A closed pipe (`howdah service list | head -1`) is no error of ours; a full disk is one,
// because the file that the shell opened lacks what the command said. Messages on stderr that cannot be written are left out, and so is
// what a server says, because a server goes on without its terminal.
import { Console } from 'node:console'
import { exit_codes } from './command.ts'

export function watchStreams({ is_server }: { is_server: boolean }): void {
  process.stderr.on('error', () => undefined)
  if (is_server) {
    process.stdout.on('error', () => undefined)
    return
  }
  // Of itself it swallows what a write throws.
  const strict = new Console({ stdout: process.stdout, ignoreErrors: false })
  console.log = (...words) => strict.log(...words)
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exit_codes.done)
    console.error(`howdah: the output cannot be written: ${error.message}`)
    process.exit(exit_codes.failed)
  })
}
