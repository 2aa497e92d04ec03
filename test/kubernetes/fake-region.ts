// A Kubernetes region for a server, over a fake API server, operator and object store: what the API does there, without a cluster. No
// database runs, so it serves tests that log in to none.
import type { RegionRow } from '#server/region-file.ts'
import type { TestInstallation } from '#test/installation.ts'
import { newServicePorts } from '#test/ports.ts'
import { startFakeApi } from './fake-api.ts'
import { startFakeBucket } from './fake-bucket.ts'
import { startFakeOperator } from './fake-operator.ts'
import { cluster_objects } from './world.ts'

export type FakeRegion = { row: RegionRow; stop: () => Promise<void> }

export async function startFakeRegion(): Promise<FakeRegion> {
  const api = await startFakeApi()
  for (const [path, object] of cluster_objects) api.store.apply(path, object)
  const bucket = await startFakeBucket()
  const operator = startFakeOperator(api, bucket)
  const { first, last } = newServicePorts()
  const { bucket: name, prefix, endpoint } = bucket.settings
  const members = {
    kubeconfig: api.kubeconfig,
    host: '127.0.0.1',
    node_ports: `${first}-${last}`,
    catalog: 'rig',
    extensions: ['timescaledb', 'vector'],
    store: { path: `s3://${name}/${prefix}`, endpoint, secret: 'kube-system/store-keys' },
  }
  return {
    row: { region_code: 'local', provider: 'kubernetes', members, near: '/' },
    stop: async () => {
      await operator.stop()
      await bucket.stop()
      await api.stop()
    },
  }
}

/** The region ends with its installation. */
export function withRegionStopped(installation: TestInstallation, { stop: stopRegion }: FakeRegion): TestInstallation {
  const stop = installation.stop.bind(installation)
  installation.stop = async () => {
    await stop()
    await stopRegion()
  }
  return installation
}
