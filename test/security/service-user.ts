// The tenant that broke PostgreSQL: code that runs as a service's own user and does to that user's files what it likes.
// Where the tests do not run as root, all services have the user that the tests have.
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import type { WantedService } from '#providers/provider.ts'
import { as_root } from '#test/provider/service-fixture.ts'

export const only_root = as_root ? '' : ' (skipped: only root has rights that a tenant could borrow)'

const userOf = ({ home }: WantedService) => (as_root ? { uid: 70_000 + home.port, gid: 70_000 + home.port } : {})

/** Runs a shell script as the service's user; $1 and so on are the words. */
export async function asServiceUser(wanted: WantedService, script: string, ...words: string[]): Promise<void> {
  const env = { PATH: '/usr/bin:/bin' }
  await promisify(execFile)('/bin/sh', ['-euc', script, 'sh', ...words], { cwd: '/', env, ...userOf(wanted) })
}

/** Goes round in a Perl program as the service's user until the test is over, or for a minute. */
export function keepsDoing(wanted: WantedService, program: string, ...words: string[]): void {
  const forever = `my $until = time + 60; while (time < $until) { ${program} }`
  const child = spawn('/usr/bin/perl', ['-e', forever, ...words], {
    cwd: '/',
    env: {},
    stdio: 'ignore',
    ...userOf(wanted),
  })
  onTestFinished(() => void child.kill('SIGKILL'))
}

/** A folder with a file that belong to the one who runs the server, and that no service's user may read or change. */
export function newVictim() {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-victim-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'kept'), { mode: 0o700 })
  const file = join(folder, 'kept', 'file')
  writeFileSync(file, 'a secret of the host', { mode: 0o600 })
  const before = statSync(file)
  return {
    folder: join(folder, 'kept'),
    file,
    /** What an attack has changed; empty when nothing. */
    damage: () => {
      const now = statSync(file, { throwIfNoEntry: false })
      if (now === undefined) return 'removed'
      if (now.uid !== before.uid) return `given to ${now.uid}`
      return readFileSync(file, 'utf8') === 'a secret of the host' ? '' : 'written to'
    },
  }
}
