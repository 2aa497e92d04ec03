// Before the first test of a run and after its last: the folder in which all of its tests work, and the sweeper, a process of its own
// that removes the folder and all traces of the tests as soon as the runner is dead, whatever ended it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { textOrNothing } from '#providers/host/read.ts'
import { until } from '#test/until.ts'

const sweeper_program = join(import.meta.dirname, 'sweeper.ts')

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = project.config.env['TMPDIR'] ?? ''
  mkdirSync(folder)
  // As /tmp is: tests run programs as other users too.
  chmodSync(folder, 0o1777)
  // Detached, so that it survives what a terminal sends to the whole group; the end of its input tells it that the runner is dead.
  const sweeper = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', sweeper_program], {
    cwd: '/',
    // Nothing else, such as the folder of another run that has started this one: its sweeper would end this one's.
    env: { PATH: process.env['PATH'], TMPDIR: folder },
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const ended = once(sweeper, 'exit')
  return async () => {
    // The runner waits for a minute for the last word of a worker that was killed: the sweeper is told when all have ended by themselves.
    await until(() => !hasWorkers(), { what: 'the workers end' }).catch(() => undefined)
    sweeper.stdin.end()
    await ended
  }
}

/** Whether children of this process, which is the runner, still run tests. */
function hasWorkers(): boolean {
  const children = textOrNothing(`/proc/self/task/${process.pid}/children`).split(' ')
  return children.some((pid) => textOrNothing(`/proc/${pid}/cmdline`).includes('vitest/dist/workers'))
}
