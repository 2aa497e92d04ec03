// The region on which the tests of the API run. By default nothing of it runs anywhere, so they take seconds; TEST_REGION=local runs the
// same tests on real databases.
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

export function startInRegion({ config, ...options }: TestOptions = {}, name = asked): Promise<TestInstallation> {
  const regions = [{ region_code: 'local', provider: providerOf(name) }, elsewhere]
  return startInstallation({ ...options, config: { regions, ...config } })
}
