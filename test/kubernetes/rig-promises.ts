// The promises of providers, kept on a real cluster. What a test made is removed before the next one begins: a small machine has room
// for few Pods at once.
import { afterEach } from 'vitest'
import { describePromises } from '#test/provider/promises.ts'
import { until } from '#test/until.ts'
import { openRig } from './rig-region.ts'

const rigs: Awaited<ReturnType<typeof openRig>>[] = []

afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close()
})

describePromises('the Kubernetes provider on a cluster', async () => {
  const rig = await openRig()
  rigs.push(rig)
  const provider = await rig.open()
  await until(() => provider.facts().postgres_versions.length > 0, { what: 'the facts are read' })
  return {
    provider,
    crash: async (wanted) => {
      const namespace = rig.namespaceOf(wanted)
      await rig.client.remove({ kind: 'Pod', namespace, name: `s-${wanted.service_id}-1` })
    },
    reopen: () => rig.open(),
  }
})
