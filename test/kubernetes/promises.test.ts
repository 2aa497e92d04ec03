// The promises of providers, kept by the Kubernetes provider over a fake API server.
import { until } from '#test/until.ts'
import { describePromises } from '#test/provider/promises.ts'
import { useKubernetes } from './world.ts'

const { newWorld } = useKubernetes()

describePromises('the Kubernetes provider', async () => {
  const { open, crash } = await newWorld()
  const provider = await open()
  await until(() => provider.facts().postgres_versions.length > 0, { what: 'the facts are read' })
  return { provider, crash, reopen: () => open() }
})
