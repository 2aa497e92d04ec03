// The alerts and the dashboard ask for metrics that the server tells, and for none that it does not.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { exportedName, metric_names } from '#contract/metric.ts'
import { why_no_promtool } from '#test/promtool.ts'
import { production, root } from '#test/sources.ts'
import { pageAt } from './pages.ts'

const alerts_file = join(root, 'docs', 'monitoring', 'howdah-alerts.yaml')
const alerts = readFileSync(alerts_file, 'utf8')
const dashboard = readFileSync(join(root, 'docs', 'monitoring', 'howdah-dashboard.json'), 'utf8')
const telemetry = production.find(({ path }) => path === 'server/metric/telemetry.ts')?.text ?? ''

/** Of the server and its services as they stand there; of each service by their names in the contract. */
const told = new Set([
  ...[...telemetry.matchAll(/'((?:howdah|process)_\w+)'/g)].map(([, name]) => name),
  ...metric_names.filter((name) => telemetry.includes(`['${name}',`)).map(exportedName),
])

const metricsIn = (text: string) =>
  [...text.matchAll(/\b(?:howdah|process)_[a-z_]+\b/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, ''))

test('the page names every metric, and each that is asked for is told', () => {
  const named = new Set(metricsIn(pageAt('docs/monitoring.md').text))
  expect([...told].filter((name) => name?.startsWith('howdah_service_') || name?.includes('_')).length).toBeGreaterThan(
    15,
  )
  const asked = [...named, ...metricsIn(alerts), ...metricsIn(dashboard)]
  expect(asked.filter((name) => !told.has(name))).toEqual([])
})

test('every alert says what to do, and the page lists it', () => {
  type Rules = { groups: { rules: { alert: string; annotations: { summary: string; action: string } }[] }[] }
  const { groups } = parse(alerts) as Rules // our own file
  const rules = groups.flatMap((group) => group.rules)
  const listed = [...pageAt('docs/monitoring.md').text.matchAll(/^\| `(Howdah\w+)` \|.*\| (.*) \|$/gm)]
  expect(listed.map(([, alert, action]) => [alert, action])).toEqual(
    rules.map(({ alert, annotations }) => [alert, annotations.action]),
  )
})

test('the dashboard is one that Grafana imports', () => {
  const { panels, templating } = JSON.parse(dashboard) as { panels: { targets: object[] }[]; templating: object }
  expect(panels.length).toBeGreaterThan(10)
  expect(panels.every(({ targets }) => targets.length > 0)).toBe(true)
  expect(templating).toMatchObject({ list: [{ name: 'datasource' }, { name: 'service' }] })
})

test.skipIf(why_no_promtool)(`Prometheus accepts the alerts${why_no_promtool}`, () => {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', alerts_file], { encoding: 'utf8' })
  expect(status, stdout + stderr).toBe(0)
})
