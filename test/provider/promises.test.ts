// The promises of providers, kept by the local provider and by the memory provider; with TEST_REGION=rig on a Kubernetes cluster too.
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { openMemoryProvider } from '#providers/memory/memory.ts'
import { describePromises } from './promises.ts'
import { postmasterPid, useWorlds } from './service-fixture.ts'

const { newWorld } = useWorlds()

describePromises('the local provider', async () => {
  const world = await newWorld()
  return {
    provider: await world.open(),
    crash: async (wanted) => void process.kill(await postmasterPid(world, wanted), 'SIGKILL'),
    lose: async (wanted) => {
      process.kill(await postmasterPid(world, wanted), 'SIGKILL')
      await rename(join(world.directory, 'services', wanted.service_id), join(world.directory, 'elsewhere'))
    },
    reopen: () => world.open(),
  }
})

const memory = { identity: 'memory', host: '127.0.0.1', ports: { first: 20_000, last: 20_099 } }

for (const delay_ms of [0, 20]) {
  describePromises(`the memory provider with a delay of ${delay_ms} ms`, async () => {
    const provider = openMemoryProvider({ ...memory, delay_ms })
    return { provider, crash: async ({ service_id }) => provider.crash(service_id) }
  })
}

if (process.env['TEST_REGION'] === 'rig') await import('#test/kubernetes/rig-promises.ts')
