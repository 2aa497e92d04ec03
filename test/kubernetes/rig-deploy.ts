// Howdah itself in a real cluster, by deploy/kubernetes as it stands there: two servers of one installation on a PostgreSQL of the
// operator's, in an image of this clone (rig/howdah-image). They make a service in their own cluster, and one of them is enough.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkServerIdentity as checkIdentity, type PeerCertificate } from 'node:tls'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { base_path } from '#contract/api.ts'
import { newCall } from '#test/call.ts'
import { until } from '#test/until.ts'

const state = process.env['RIG_STATE'] ?? '/var/lib/howdah-rig'
const port = 31_190
const api_url = `http://127.0.0.1:${port}${base_path}`
const root = join(import.meta.dirname, '../..')

const run = (program: string, words: readonly string[], input = '') =>
  execFileSync(program, words, { input, stdio: ['pipe', 'pipe', 'inherit'], cwd: root }).toString()
const kubectl = (...words: string[]) =>
  run(join(state, 'bin/kubectl'), ['--kubeconfig', join(state, 'kubeconfig'), ...words])
const create = (manifest: string) =>
  run(
    join(state, 'bin/kubectl'),
    ['--kubeconfig', join(state, 'kubeconfig'), '-n', 'howdah-system', 'apply', '-f', '-'],
    manifest,
  )

/** The operator's; its Secret has the URL. */
const store = {
  apiVersion: 'postgresql.cnpg.io/v1',
  kind: 'Cluster',
  metadata: { name: 'rows', namespace: 'howdah-system' },
  spec: {
    instances: 1,
    imageCatalogRef: { apiGroup: 'postgresql.cnpg.io', kind: 'ClusterImageCatalog', name: 'rig', major: 17 },
    storage: { size: '1Gi', storageClass: 'rig-local' },
    bootstrap: { initdb: { database: 'howdah', owner: 'howdah' } },
  },
}

/** Where Pods reach node ports; on this machine they are at 127.0.0.1. */
const node = process.env['RIG_NODE_ADDRESS'] ?? '10.77.0.1'
const members = `"host": "${node}", "node_ports": "31000-31189", "storage_class": "rig-local", "storage_gbs": 1`

test('two servers in the cluster make a service there, and one of them is enough', async () => {
  const installation = run(process.execPath, ['deploy/kubernetes/new-installation.ts'])
  onTestFinished(() => {
    kubectl('delete', 'namespace', 'howdah-system', '--ignore-not-found')
    // What a deleted service leaves for as long as it can be restored.
    const { stringData } = JSON.parse(installation) as { stringData: Record<string, string> } // written by that program
    kubectl('delete', 'namespace', '-l', `howdah/installation-id=${stringData['installation-id']?.trim()}`)
  })
  run(join(import.meta.dirname, 'rig/howdah-image'), [])
  kubectl('apply', '-f', 'deploy/kubernetes/rbac.yaml')
  create(installation)
  create(JSON.stringify(store))
  const uri = await until(() => secretOf('rows-app', 'uri'), { what: 'the store has its Secret' })
  create(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'howdah-database' },
      stringData: { url: uri },
    }),
  )
  const isReady = () =>
    kubectl('-n', 'howdah-system', 'get', 'cluster', 'rows', '-o', 'jsonpath={.status.readyInstances}') === '1'
  await until(isReady, { what: 'the store runs' })
  const manifest = readFileSync(join(root, 'deploy/kubernetes/howdah.yaml'), 'utf8')
    .replaceAll('image: howdah:1', 'image: localhost/howdah:1')
    .replace('"host": "pg.eu.example.org"', members)
    .replace('"catalog": "howdah"', '"catalog": "rig"')
  create(manifest)
  const of_service = { spec: { type: 'NodePort', ports: [{ port: 80, targetPort: 'http', nodePort: port }] } }
  kubectl('-n', 'howdah-system', 'patch', 'service', 'howdah', '-p', JSON.stringify(of_service))
  kubectl('-n', 'howdah-system', 'rollout', 'status', 'deployment/howdah', '--timeout=600s')

  const logs = kubectl('-n', 'howdah-system', 'logs', '-l', 'app=howdah', '-c', 'howdah', '--tail=-1')
  const [, token = ''] = /Token +(\S+)/.exec(logs) ?? []
  const call = newCall(api_url, token)
  const { body: projects } = await call<{ id: string }[]>('GET', '/projects')
  const services = `/projects/${projects[0]?.id}/services`
  const made = await call('POST', services, { name: 'shop', cpu_millis: 'shared' })
  expect([made.status, made.body.region_code]).toEqual([202, 'eu-1'])
  const { service_id, endpoint, initial_password: password = '' } = made.body
  const status = async () => (await call('GET', `${services}/${service_id}`)).body.status
  await until(async () => (await status()) === 'READY', { what: 'the service is READY' })
  const ca_pem = await (await fetch(`${api_url}/ca.pem`)).text()
  expect(endpoint.host).toBe(node)
  const checkServerIdentity = (_host: string, certificate: PeerCertificate) => checkIdentity(node, certificate)
  const ssl = { ca: ca_pem, checkServerIdentity }
  const at = { host: '127.0.0.1', port: endpoint.port }
  const login = new pg.Client({ ...at, user: 'tsdbadmin', database: 'tsdb', password, ssl })
  await login.connect()
  expect((await login.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  await login.end()

  const [first = ''] = kubectl('-n', 'howdah-system', 'get', 'pods', '-l', 'app=howdah', '-o', 'name').split('\n')
  kubectl('-n', 'howdah-system', 'delete', first, '--wait=false')
  expect((await call('POST', `${services}/${service_id}/stop`)).status).toBe(202)
  await until(async () => (await status()) === 'PAUSED', { what: 'the other one stops the service' })
  await call('DELETE', `${services}/${service_id}`)
  await until(async () => (await call('GET', `${services}/${service_id}`)).status === 404, { what: 'it is gone' })
})

function secretOf(name: string, key: string): string {
  const path = `jsonpath={.data.${key}}`
  const encoded = kubectl('-n', 'howdah-system', 'get', 'secret', name, '--ignore-not-found', '-o', path)
  return Buffer.from(encoded, 'base64').toString()
}
