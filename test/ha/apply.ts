// Applies one wanted service in a process of its own, until it is settled or the process kills itself at a chosen effect.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { WantedService } from '#providers/provider.ts'
import type { World } from '#test/provider/service-fixture.ts'
import type { ApplyInput } from './apply-main.ts'

const timeout_ms = 120_000

export async function applyElsewhere(
  { directory, installation_id }: World,
  wanted: WantedService,
  kill_at?: string,
): Promise<{ killed: boolean; effects: string[] }> {
  const input: ApplyInput = { options: { directory, installation_id }, wanted, kill_at }
  const script = join(import.meta.dirname, 'apply-main.ts')
  const words = ['--disable-warning=ExperimentalWarning', script, JSON.stringify(input)]
  const cache = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'howdah')
  const env = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: cache }
  try {
    const { stdout } = await promisify(execFile)(process.execPath, words, { env, timeout: timeout_ms })
    return { killed: false, effects: stdout.trim().split('\n') }
  } catch (error) {
    if (error instanceof Error && 'signal' in error && error.signal === 'SIGKILL') return { killed: true, effects: [] }
    throw error
  }
}
