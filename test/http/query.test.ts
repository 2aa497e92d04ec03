// Statements through the API where they do not run: a region without databases, and an installation whose operator has switched them off.
import { expect, onTestFinished, test } from 'vitest'
import type { Capabilities } from '#contract/capabilities.ts'
import { startInRegion } from './region.ts'

test.each([
  ['has no databases', 'on', /this region has no databases/],
  ['has them switched off', 'off', /--sql-api on/],
] as const)(
  'an installation that %s refuses a statement, with the reason that its capabilities tell',
  async (_, sql_api, reason) => {
    const howdah = await startInRegion({
      config: { regions: [{ region_code: 'local', provider: 'memory' }], sql_api },
    })
    onTestFinished(() => howdah.stop())
    const { service_id } = await howdah.createService()
    const refused = await howdah.call('POST', `${howdah.services}/${service_id}/query`, { query: 'select 1' })
    expect(refused).toMatchObject({
      status: 400,
      body: { code: 'INVALID_REQUEST', details: expect.stringMatching(reason) },
    })
    const { body } = await howdah.call<Capabilities>('GET', '/capabilities')
    expect(body.regions[0]?.features.queries).toMatchObject({ offered: false, reason: expect.stringMatching(reason) })
  },
)
