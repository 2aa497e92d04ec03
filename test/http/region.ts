// The region on which the tests of the API run, from one variable. By default nothing of it runs anywhere, so they take seconds;
// TEST_REGION=local runs the same tests on real databases. Those that need databases have them always: by default on this machine. What
// a region has on its host, and where, no test here knows: such tests are in test/local.
import { provider_names, type ProviderName } from '#providers/registry.ts'
import { startInstallation, type TestInstallation, type TestOptions } from '#test/installation.ts'

const asked = process.env['TEST_REGION'] ?? 'memory'

function providerOf(name: string): ProviderName {
  const known = provider_names.find((one) => one === name)
  if (known === undefined) throw new Error(`TEST_REGION must be one of ${provider_names.join(', ')}, not ${name}`)
  return known
}

/** For rows that tests write by hand: what is wanted of one is heard of, and not there within the test. */
const elsewhere = { region_code: 'elsewhere', provider: 'memory', delay_seconds: 3600 } as const

export const startInRegion = (options?: TestOptions): Promise<TestInstallation> => startIn(asked, options)

/** For tests that log in to a database, or need what PostgreSQL itself does. */
export const startWithDatabases = (options?: TestOptions): Promise<TestInstallation> =>
  startIn(asked === 'memory' ? 'local' : asked, options)

function startIn(name: string, { config, ...options }: TestOptions = {}): Promise<TestInstallation> {
  const regions = [{ region_code: 'local', provider: providerOf(name) }, elsewhere]
  return startInstallation({ ...options, config: { regions, ...config } })
}
