// What `howdah doctor` prints about this host, whatever this host is.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hostFacts } from '#providers/local/host-facts.ts'

let directory: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'howdah-host-facts-'))
})

afterEach(() => rmSync(directory, { recursive: true, force: true }))

test('each thing that a service may need is a fact, and what is missing comes with its remedy', async () => {
  const facts = await hostFacts({ directory, postgres_directories: [] })
  const names = facts.map((fact) => fact.name)
  for (const name of [
    'a user of its own for each service',
    'copy-on-write',
    'CPU and memory limits',
    'network namespaces',
    'PgBouncer',
    'HAProxy',
    'iproute2',
    'restic',
    'psql',
    'Chromium',
    'extension timescaledb',
    'extension vector',
    'disk space',
    'memory',
    'cores',
  ])
    expect(names).toContain(name)
  expect(names.some((name) => name.startsWith('PostgreSQL 18'))).toBe(true)
  for (const fact of facts.filter((each) => !each.supported))
    expect(fact.remedy ?? fact.finding).toMatch(/[a-z]{2,} .*[^.]$/)
})

test('reading the facts leaves no file and needs no data directory yet', async () => {
  const facts = await hostFacts({ directory: join(directory, 'not/yet'), postgres_directories: [] })
  expect(facts.find((fact) => fact.name === 'disk space')?.finding).toContain(`at ${directory}`)
  expect(readdirSync(directory)).toEqual([])
})

test('a wrong PostgreSQL directory is a fact and does not hide the other installations', async () => {
  mkdirSync(join(directory, 'empty'))
  const facts = await hostFacts({ directory, postgres_directories: [join(directory, 'empty')] })
  const problem = facts.find((fact) => fact.name === 'PostgreSQL')
  expect(problem).toMatchObject({ supported: false, finding: expect.stringContaining(join(directory, 'empty')) })
  expect(facts.some((fact) => fact.name.startsWith('PostgreSQL 18'))).toBe(true)
})
