// Reads /metrics as Prometheus does: with the token that is in the data directory.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestInstallation } from './installation.ts'

export const metricsTokenOf = ({ config }: TestInstallation) =>
  readFileSync(join(config.data_dir, 'metrics-token'), 'utf8').trim()

export async function scrape(installation: TestInstallation) {
  const authorization = `Bearer ${metricsTokenOf(installation)}`
  const answer = await fetch(`${installation.server.url}/metrics`, { headers: { authorization } })
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() }
}
