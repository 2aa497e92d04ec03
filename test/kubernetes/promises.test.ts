// The promises of providers, kept by the Kubernetes provider over a fake API server.
import type { WantedService } from '#providers/provider.ts'
import { until } from '#test/until.ts'
import { describePromises } from '#test/provider/promises.ts'
import { namespaceOf, useKubernetes } from './world.ts'

const { newWorld } = useKubernetes()

describePromises('the Kubernetes provider', async () => {
  const { api, open, crash } = await newWorld()
  const provider = await open()
  await until(() => provider.facts().postgres_versions.length > 0, { what: 'the facts are read' })
  const lose = async (wanted: WantedService) =>
    api.store.remove(`/apis/postgresql.cnpg.io/v1/namespaces/${namespaceOf(wanted)}/clusters/s-${wanted.service_id}`)
  return { provider, crash, lose, reopen: () => open() }
})
