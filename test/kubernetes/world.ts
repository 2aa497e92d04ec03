// A Kubernetes region for tests: a provider over a fake API server and a fake operator, with an authority of its own.
import { afterEach } from 'vitest'
import { type KubernetesOptions, openKubernetesProvider } from '#providers/kubernetes/kubernetes.ts'
import type { CellSettings } from '#providers/kubernetes/cell.ts'
import { newAuthority, parseAuthority } from '#providers/postgres/certificate.ts'
import type { Provider, WantedService } from '#providers/provider.ts'
import { newServicePorts } from '#test/ports.ts'
import { type FakeApi, startFakeApi } from './fake-api.ts'
import { type FakeBucket, startFakeBucket } from './fake-bucket.ts'
import { startFakeOperator } from './fake-operator.ts'

export type KubernetesWorld = {
  api: FakeApi
  bucket: FakeBucket
  operator: ReturnType<typeof startFakeOperator>
  settings: CellSettings
  /** Any number of providers over the same cluster. */
  open: (changes?: Partial<KubernetesOptions & Pick<CellSettings, 'storage_gbs'>>) => Promise<Provider>
  crash: (wanted: WantedService) => Promise<void>
}

const installation_id = 'inst000000'
export const namespaceOf = ({ project_id }: WantedService) => `howdah-inst-${project_id}`
const authority = newAuthority()
  .then(parseAuthority)
  .then((one) => {
    if (one === undefined) throw new Error('a new authority is whole')
    return one
  })

export function useKubernetes(): { newWorld: () => Promise<KubernetesWorld> } {
  const opened: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of opened.splice(0).toReversed()) await close()
  })
  return {
    newWorld: async () => {
      const api = await startFakeApi()
      opened.push(api.stop)
      for (const [path, kind] of cluster_objects) api.store.apply(path, kind)
      const bucket = await startFakeBucket()
      opened.push(bucket.stop)
      const operator = startFakeOperator(api, bucket)
      opened.push(operator.stop)
      const settings: CellSettings = {
        kubeconfig: api.kubeconfig,
        host: '127.0.0.1',
        node_ports: newServicePorts(),
        storage_gbs: 1,
        catalog: 'rig',
        extensions: [],
        store: bucket.settings,
      }
      return {
        api,
        bucket,
        operator,
        settings,
        open: async ({ storage_gbs = settings.storage_gbs, ...changes } = {}) => {
          const provider = await openKubernetesProvider({
            region: 'test',
            installation_id,
            directory: api.folder,
            authority: await authority,
            settings: { ...settings, storage_gbs },
            log: () => undefined,
            ...changes,
          })
          opened.push(() => provider.close())
          return provider
        },
        crash: async (wanted) => operator.crash(namespaceOf(wanted), `s-${wanted.service_id}-1`),
      }
    },
  }
}

const named = (name: string) => ({ name, uid: '', resourceVersion: '', generation: 0, labels: {}, annotations: {} })
export const cluster_objects = [
  ['/api/v1/namespaces/kube-system', { apiVersion: 'v1', kind: 'Namespace', metadata: named('kube-system') }],
  [
    '/api/v1/namespaces/kube-system/secrets/store-keys',
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...named('store-keys'), namespace: 'kube-system' },
      data: { ACCESS_KEY_ID: btoa('fake-id'), ACCESS_SECRET_KEY: btoa('fake-secret') },
    },
  ],
  [
    '/apis/postgresql.cnpg.io/v1/clusterimagecatalogs/rig',
    {
      apiVersion: 'postgresql.cnpg.io/v1',
      kind: 'ClusterImageCatalog',
      metadata: named('rig'),
      spec: { images: [{ major: 17, image: 'postgresql:17' }] },
    },
  ],
] as const
