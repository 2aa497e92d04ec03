// The networks of VPCs that the API makes, as they are on this machine.
import { expect, test } from 'vitest'
import type { Vpc } from '#contract/vpc.ts'
import { namespaceOf } from '#providers/local/network/name.ts'
import { openInstallation } from '#server/installation.ts'
import { startInstallation } from '#test/installation.ts'
import { why_no_networks as why } from '#test/network/vpc-fixture.ts'
import { listNamespaces } from '#test/networks.ts'
import { countOf } from '#test/sample.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'

const howdah = shared(startInstallation)

test.skipIf(why)(`many VPCs are as many networks, and no trace is left when all are deleted${why}`, async () => {
  const vpcs = `/projects/${howdah.project_id}/vpcs`
  const create = (cidr: string) => howdah.call<Vpc>('POST', vpcs, { cidr, name: 'a VPC', region_code: 'local' })
  const { installation_id } = await openInstallation(howdah.config.data_dir)
  const count = countOf(50, 15)
  const made = await Promise.all(Array.from({ length: count }, (_, index) => create(`10.${64 + index}.0.0/16`)))
  expect(made.every(({ status }) => status === 201)).toBe(true)
  const names = made.map(({ body }) => namespaceOf({ installation_id }, body.id))
  const networks = () => listNamespaces(installation_id).filter((name) => names.includes(name))
  await until(() => networks().length === count)
  const gone = await Promise.all(made.map(({ body }) => howdah.call('DELETE', `${vpcs}/${body.id}`)))
  expect(gone.every(({ status }) => status === 204)).toBe(true)
  await until(() => networks().length === 0)
})
