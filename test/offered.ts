// Whether the region under test offers something, as the server itself says: a test of what it does not offer expects that.
import type { Capabilities } from '#contract/capabilities.ts'
import type { TestInstallation } from './installation.ts'

type Feature = keyof Capabilities['regions'][number]['features']

export async function isOffered({ call }: Pick<TestInstallation, 'call'>, feature: Feature): Promise<boolean> {
  const { body } = await call<Capabilities>('GET', '/capabilities')
  return body.regions[0]?.features[feature].offered === true
}
