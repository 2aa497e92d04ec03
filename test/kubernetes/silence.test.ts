// Where an API server, or a node or a Pod behind it, is silent or does not end: requests to others go on, and a part of a log does not pass for all of it.
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { openClient } from '#providers/kubernetes/api/client.ts'
import { NoAnswer } from '#providers/kubernetes/api/errors.ts'
import { newLossyDisk } from '#test/lossy-disk.ts'
import { newWanted, settle } from './wanted.ts'
import { useKubernetes } from './world.ts'

const { newWorld } = useKubernetes()
const disk = newLossyDisk({ size: '400M', shares_blocks: false })
const { why } = disk
afterAll(() => disk.remove())

for (const how of ['named', undefined] as const) {
  const what = how === undefined ? 'all that was not flushed' : 'the contents of files'
  test.skipIf(why)(
    `a region is known after a loss of power that took ${what}, while its cluster is silent${why}`,
    async () => {
      const { api, open } = await newWorld()
      const directory = disk.path
      const before = await open({ directory })
      const { identity } = before.facts()
      await before.close()
      disk.losePower(how)
      await disk.mount()
      api.silence(/kube-system/)
      expect((await open({ directory })).facts().identity).toBe(identity)
      rmSync(join(directory, 'test.cluster'))
    },
  )
}

test('nodes that are silent keep no request from the API server or from a Pod', async () => {
  const { api } = await newWorld()
  api.silence(/\/nodes\/.*\/proxy\//)
  const client = openClient({ kubeconfig: api.kubeconfig })
  onTestFinished(client.close)
  const nodes = ['a', 'b', 'c', 'd'].map((name) => client.text(`/api/v1/nodes/${name}/proxy/metrics/resource`))
  for (const { reason } of (await Promise.allSettled(nodes)) as { reason?: unknown }[])
    expect(reason).toBeInstanceOf(NoAnswer)
  expect(await client.find({ kind: 'Namespace', name: 'kube-system' })).toBeDefined()
  for (const path of ['/version', '/api/v1/namespaces/kube-system/pods/https:none:8000/proxy/pg/status']) {
    expect(await client.text(path).catch((error: unknown) => error)).not.toBeInstanceOf(NoAnswer)
  }
})

test('what a Pod serves is read up to 4 MB', async () => {
  const { api } = await newWorld()
  const server = createServer((_request, response) => response.end(Buffer.alloc(4 * 1024 ** 2 + 1, '\n'))).listen(0)
  const config = {
    'current-context': 'endless',
    contexts: [{ name: 'endless', context: { cluster: 'endless', user: 'endless' } }],
    clusters: [{ name: 'endless', cluster: { server: `http://127.0.0.1:${Object(server.address()).port}` } }],
    users: [{ name: 'endless', user: { token: 'a token' } }],
  }
  const kubeconfig = join(api.folder, 'endless')
  writeFileSync(kubeconfig, JSON.stringify(config))
  const client = openClient({ kubeconfig })
  onTestFinished(() => {
    client.close()
    server.closeAllConnections()
    server.close()
  })
  await expect(client.text('/api/v1/namespaces/a/pods/b:9187/proxy/metrics')).rejects.toThrow('more than 4194304 bytes')
})

test('a log of which the Pod is silent cannot be read, and is not told as empty', async () => {
  const { api, open } = await newWorld()
  const provider = await open()
  const { service_id } = await settledOne(provider)
  api.silence(/\/log\b/)
  const unavailable = 'region test does not answer (it is silent); the databases go on running'
  const [filter, page] = [
    { search: [], severities: [] },
    { skip: 0, limit: 5 },
  ]
  const reads = [provider.logs.page(service_id, { ...filter, ...page }), provider.logs.tail(service_id, filter)]
  expect(await Promise.all(reads)).toEqual([{ unavailable }, { unavailable }])
})

async function settledOne(provider: Parameters<typeof newWanted>[0]) {
  const wanted = await newWanted(provider)
  await settle(provider, wanted)
  return wanted
}
