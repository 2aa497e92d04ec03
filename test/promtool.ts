// Prometheus' own judgement of what we tell it, where its tool is installed (Debian has it in the package prometheus).
import { spawnSync } from 'node:child_process'

export const why_no_promtool =
  spawnSync('promtool', ['--version']).error === undefined ? '' : ' (skipped: promtool is not installed)'

/** Everything it has to object; empty when it is content. */
export function objectionsTo(metrics: string): string {
  const { stdout, stderr, status } = spawnSync('promtool', ['check', 'metrics'], { input: metrics, encoding: 'utf8' })
  return stdout + stderr + (status === 0 ? '' : `exit code ${status}`)
}
