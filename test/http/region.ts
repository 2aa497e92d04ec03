// The region on which the tests of the API run, from one variable. By default nothing of it runs anywhere, so they take seconds;
// TEST_REGION=local runs the same tests on real databases, TEST_REGION=rig on a Kubernetes cluster, TEST_REGION=kubernetes on a fake one.
// Those that need databases have them always: by default on this machine. What a region has on its host, and where, no test here
// knows: such tests are in test/local.
import { provider_names } from '#providers/registry.ts'
import type { RegionRow } from '#server/region-file.ts'
import { startInstallation, type TestInstallation, type TestOptions } from '#test/installation.ts'
import { startFakeRegion, withRegionStopped } from '#test/kubernetes/fake-region.ts'
import { rig_row, withRigRemoved } from '#test/kubernetes/rig-region.ts'

const asked = process.env['TEST_REGION'] ?? 'memory'

/** For rows that tests write by hand: what is wanted of one is heard of, and not there within the test. */
const elsewhere = { region_code: 'elsewhere', provider: 'memory', delay_seconds: 3600 } as const

function rowOf(name: string): RegionRow {
  if (name === 'rig') return rig_row
  const known = provider_names.find((one) => one === name && one !== 'kubernetes')
  if (known === undefined) throw new Error(`TEST_REGION must be memory, local, kubernetes or rig, not ${name}`)
  return { region_code: 'local', provider: known }
}

export const startInRegion = (options?: TestOptions): Promise<TestInstallation> => startIn(asked, options)

/** For tests that log in to a database, or need what PostgreSQL itself does. */
export const startWithDatabases = (options?: TestOptions): Promise<TestInstallation> =>
  startIn(asked === 'memory' || asked === 'kubernetes' ? 'local' : asked, options)

async function startIn(name: string, { config, ...options }: TestOptions = {}): Promise<TestInstallation> {
  const fake = name === 'kubernetes' ? await startFakeRegion() : undefined
  const regions = [fake?.row ?? rowOf(name), elsewhere]
  const installation = await startInstallation({ ...options, config: { regions, ...config } })
  if (fake) return withRegionStopped(installation, fake)
  return name === 'rig' ? withRigRemoved(installation) : installation
}
