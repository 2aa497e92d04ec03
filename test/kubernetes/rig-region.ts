// A region on a real cluster: the one of KUBECONFIG. Each has an installation of its own, and removes what it made.
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestContext } from 'vitest'
import { type Client, openClient } from '#providers/kubernetes/api/client.ts'
import type { CellSettings } from '#providers/kubernetes/cell.ts'
import { parseSettings } from '#providers/kubernetes/settings.ts'
import { openKubernetesProvider } from '#providers/kubernetes/kubernetes.ts'
import { newAuthority, parseAuthority } from '#providers/postgres/certificate.ts'
import type { Provider, WantedService } from '#providers/provider.ts'
import type { RegionRow } from '#server/region-file.ts'
import type { TestInstallation } from '#test/installation.ts'
import { until } from '#test/until.ts'
import { newTestId } from './wanted.ts'

const rig_kubeconfig = '/var/lib/howdah-rig/kubeconfig'

/** As rig/up makes it; another cluster is described by the same variables. */
const members = {
  kubeconfig: process.env['KUBECONFIG'] ?? rig_kubeconfig,
  host: process.env['RIG_HOST'] ?? '127.0.0.1',
  node_ports: '31000-31199',
  storage_class: process.env['RIG_STORAGE_CLASS'] ?? 'rig-local',
  storage_gbs: 1,
  catalog: process.env['RIG_CATALOG'] ?? 'rig',
  extensions: ['timescaledb', 'vector'],
  pooler_image: process.env['RIG_POOLER_IMAGE'] ?? 'localhost/pgbouncer:1',
  // Two cores are few for the sizes that tests ask for.
  cpu_overcommit: 4,
  store: {
    path: process.env['RIG_STORE_PATH'] ?? 's3://howdah/rig',
    endpoint: process.env['RIG_STORE_ENDPOINT'] ?? 'http://10.77.0.1:9000',
    server_endpoint: process.env['RIG_STORE_SERVER_ENDPOINT'] ?? 'http://127.0.0.1:19000',
    secret: process.env['RIG_STORE_SECRET'] ?? 'kube-system/store-keys',
  },
}

export const rig_settings = parseSettings('rig', members, '/')

/** For what this machine must run itself, or know the nodes of. */
export function needsRig({ skip }: TestContext): void {
  skip(members.kubeconfig !== rig_kubeconfig, 'only the cluster of test/kubernetes/rig/up can be treated like this')
}

/** The same for a server, as its file of regions has it. */
export const rig_row: RegionRow = { region_code: 'local', provider: 'kubernetes', members, near: '/' }

/**
 * A server leaves its services running; a test does not. The rig has two cores to promise to Pods, so services whose size a test leaves
 * open are shared.
 */
export function withRigRemoved(installation: TestInstallation): TestInstallation {
  const stop = installation.stop.bind(installation)
  const createService = installation.createService.bind(installation)
  installation.createService = (input) => createService({ cpu_millis: 'shared', ...input })
  installation.stop = async () => {
    const client = openClient(rig_settings)
    const installation_id = readFileSync(join(installation.config.data_dir, 'installation-id'), 'utf8').trim()
    await stop()
    await removeAll(client, installation_id)
    client.close()
  }
  return installation
}

export type Rig = Awaited<ReturnType<typeof openRig>>

export async function openRig(parts: { settings?: CellSettings } = {}) {
  const installation_id = newTestId()
  const pair = await newAuthority()
  const authority = await parseAuthority(pair)
  if (authority === undefined) throw new Error('a new authority is whole')
  const directory = mkdtempSync(join(tmpdir(), 'howdah-rig-'))
  const client = openClient(rig_settings)
  const opened: Provider[] = []
  const open = async (): Promise<Provider> => {
    const provider = await openKubernetesProvider({
      region: 'rig',
      installation_id,
      directory,
      authority,
      settings: rig_settings,
      log: () => undefined,
      ...parts,
    })
    opened.push(provider)
    return provider
  }
  const close = async () => {
    for (const provider of opened.splice(0)) await provider.close()
    await removeAll(client, installation_id)
    client.close()
  }
  return {
    open,
    /** Removes all that was made. */
    close,
    client,
    authority,
    /** For a provider of the same installation in another process. */
    task: { installation_id, directory, pair },
    installation_id,
    ca_pem: authority.certificate_pem,
    namespaceOf: ({ project_id }: WantedService) => `howdah-${installation_id.slice(0, 4)}-${project_id}`,
  }
}

async function removeAll(client: Client, installation_id: string): Promise<void> {
  const mine = { kind: 'Namespace', label_selector: `howdah/installation-id=${installation_id}` } as const
  for (const { metadata } of (await client.list(mine)).items)
    await client.remove({ kind: 'Namespace', name: metadata.name })
  await until(async () => (await client.list(mine)).items.length === 0, { what: 'nothing of the installation is left' })
}

type Login = { at: { host: string; port: number }; password: string; ca_pem: string; database?: string }

/** As a careful client: certificate and host name are verified. */
export async function loginAt({ at, password, ca_pem, database = 'tsdb' }: Login): Promise<pg.Client> {
  const ssl = { ca: ca_pem, rejectUnauthorized: true }
  const client = new pg.Client({ ...at, user: 'tsdbadmin', password, database, ssl, connectionTimeoutMillis: 10_000 })
  client.on('error', () => undefined)
  await client.connect()
  return client
}
