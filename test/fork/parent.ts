// What the tests of forks on a provider share: a service to fork.
import type { LocalProvider } from '#providers/local/local.ts'
import type { WantedService } from '#providers/provider.ts'
import { ask, newWanted, settle } from '#test/provider/service-fixture.ts'

/** It serves, and has a table `t` with a 1. */
export async function newParent(provider: LocalProvider): Promise<WantedService> {
  const parent = await newWanted(provider, { size: 'shared' })
  await settle(provider, parent)
  await ask(provider, parent, 'create table t as select 1 as n')
  return parent
}
