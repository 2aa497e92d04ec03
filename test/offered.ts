// Whether the region under test offers something, as the server itself says: a test of what it does not offer expects that, or is skipped.
import type { TestContext } from 'vitest'
import type { Capabilities } from '#contract/capabilities.ts'
import type { TestInstallation } from './installation.ts'

type Features = Capabilities['regions'][number]['features']
type Asked = Pick<TestInstallation, 'call'>

async function featuresOf({ call }: Asked): Promise<Features> {
  const { body } = await call<Capabilities>('GET', '/capabilities')
  const [region] = body.regions
  if (region === undefined) throw new Error('a server has a region')
  return region.features
}

export async function isOffered(installation: Asked, feature: keyof Features): Promise<boolean> {
  return (await featuresOf(installation))[feature].offered
}

/** In the words of the region. */
export async function reasonsAgainst(installation: Asked): Promise<string[]> {
  return Object.values(await featuresOf(installation)).flatMap(({ reason }) => reason ?? [])
}

/** The test is skipped where the region does not offer it, and the end of the run tells why, in the words of the region. */
export async function needs({ skip }: TestContext, installation: Asked, feature: keyof Features): Promise<void> {
  const { offered, reason } = (await featuresOf(installation))[feature]
  skip(!offered, reason)
}
