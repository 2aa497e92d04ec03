// The part of bench/kubernetes.ts for `--stored`: what a server costs that has very many services on Kubernetes. Their objects are in an
// API server, as the operator leaves those of paused services: no Pod runs. The API server is the one of the tests, in this process.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { type Manifest, pathOf } from '#providers/kubernetes/api/kinds.ts'
import { nodePortOf, primaryOf } from '#providers/kubernetes/cluster/access.ts'
import { networkPolicyOf } from '#providers/kubernetes/cluster/network.ts'
import { adminSecretOf, tlsChanges } from '#providers/kubernetes/cluster/secrets.ts'
import { memberOf, namesOf, type ServiceNames } from '#providers/kubernetes/names.ts'
import { clusterOf, newDatabase } from '#providers/kubernetes/service/cluster.ts'
import { parseSettings } from '#providers/kubernetes/settings.ts'
import { foldersOf } from '#providers/local/host/layout.ts'
import { ensureAuthority } from '#providers/local/postgres/authority.ts'
import type { WantedService } from '#providers/provider.ts'
import { storeUrlOf } from '#test/database.ts'
import { repository, startHowdah } from '#test/e2e/howdah.ts'
import { type FakeApi, startFakeApi } from '#test/kubernetes/fake-api.ts'
import type { Held } from '#test/kubernetes/fake-store.ts'
import { cluster_objects } from '#test/kubernetes/world.ts'
import { verifierOf } from '#test/provider/wanted.ts'
import { withCleanup } from './cleanup.ts'
import { medianOf, printFigures, spread } from './figures.ts'
import { memoryMbOf, secondsOf, secondsOfPostgres } from './processor.ts'

const region = 'cell'
const host = '127.0.0.1'
const per_project = 10
const quiet_ms = 10_000
/** After so long the next routine pass over each service is due. */
const routine_seconds = 300
const changes = 20
const goals = { core_percent: 2, memory_mb: 200, pass_ms: 200 }

export async function measureStored(count: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-bench-'))
  // Its metadata store runs as another user, who must be able to walk in.
  chmodSync(folder, 0o755)
  const data_dir = join(folder, 'howdah')
  const api = await startFakeApi()
  for (const [path, object] of cluster_objects) api.store.apply(path, object)
  const members = { kubeconfig: api.kubeconfig, host, catalog: 'rig', node_ports: '1-65535' }
  const regions = join(folder, 'regions.json')
  writeFileSync(regions, JSON.stringify([{ region_code: region, provider: 'kubernetes', ...members }]))
  mkdirSync(join(folder, 'config'))
  const words = ['--data-dir', data_dir, '--regions', regions, '--rate-limit', '0']
  const start = () => startHowdah(words, { XDG_CONFIG_HOME: join(folder, 'config') })
  let server = await start()
  const undo = () => {
    execFileSync(join(repository, 'bin/howdah'), ['stop', '--all', '--data-dir', data_dir, '--regions', regions])
    rmSync(folder, { recursive: true, force: true })
  }
  await withCleanup(undo, async () => {
    // Its metadata store goes on.
    await server.end('SIGKILL')
    const services = await fill(api, data_dir, members, count)
    const begun = performance.now()
    server = await start()
    const up_ms = performance.now() - begun
    await untilPassed(data_dir, begun)
    const all_ms = performance.now() - begun
    await pause(quiet_ms)
    const asked = api.asked.length
    const before = used(server.pid, data_dir)
    const idle_from = performance.now()
    await pause(routine_seconds * 1000)
    await untilPassed(data_dir, idle_from)
    const after = used(server.pid, data_dir)
    const seconds = (performance.now() - idle_from) / 1000
    const requests = api.asked.slice(asked).filter((one) => !one.startsWith('GET'))
    if (requests.length > 0) throw new Error(`an idle server wrote: ${requests.slice(0, 5).join(', ')}`)
    const percent = (a: number, b: number) => ((b - a) / seconds) * 100
    const core = percent(before.server, after.server)
    const passes: number[] = []
    for (let at = 0; at < changes; at += 1) passes.push(await change(api, services[Math.floor((at * count) / changes)]))
    const pass_ms = medianOf(passes)
    const memory = memoryMbOf(server.pid)
    printFigures(`Kubernetes, ${count} stored services, idle for ${seconds.toFixed(0)} s`, [
      { what: 'start → the server answers', ours: `${(up_ms / 1000).toFixed(1)} s` },
      { what: 'start → a pass over each was made', ours: `${(all_ms / 1000).toFixed(1)} s` },
      {
        what: 'server, processor',
        ours: `${core.toFixed(2)} % of a core`,
        goal: below(goals.core_percent, core, ' %'),
      },
      { what: 'its metadata store, processor', ours: `${percent(before.store, after.store).toFixed(2)} % of a core` },
      { what: 'server, memory', ours: `${memory.toFixed(0)} MB`, goal: below(goals.memory_mb, memory, ' MB') },
      {
        what: 'a change in the cluster → a pass has undone it',
        ours: spread(passes, 'ms'),
        goal: below(goals.pass_ms, pass_ms, ' ms'),
      },
    ])
  })
  await api.stop()
}

const below = (limit: number, value: number, unit: string) => ({ text: `< ${limit}${unit}`, reached: value < limit })

const used = (pid: number, data_dir: string) => ({
  server: secondsOf(pid),
  store: secondsOfPostgres(join(data_dir, 'store')),
})

type Stored = { names: ServiceNames; wanted: WantedService }

/** Rows as the server would have written them, and objects as its own passes would have made them. */
async function fill(api: FakeApi, data_dir: string, members: object, count: number): Promise<readonly Stored[]> {
  const installation_id = readFileSync(join(data_dir, 'installation-id'), 'utf8').trim()
  const authority = await ensureAuthority(foldersOf(join(data_dir, 'local')).authority)
  const settings = parseSettings(region, { ...members }, '/')
  const password_verifier = verifierOf('bench')
  const services = Array.from({ length: count }, (_, at): Stored => {
    const home = { host, port: at + 1 }
    const idOf = (letter: string, number: number) => letter + String(number).padStart(9, '0')
    const wanted: WantedService = {
      service_id: idOf('s', at),
      project_id: idOf('p', Math.floor(at / per_project)),
      generation: 1,
      deleted: false,
      power: 'off',
      size: 'shared',
      extensions: [],
      password_verifier,
      home,
      reach: home,
      snapshots: [],
    }
    return { wanted, names: namesOf({ ...wanted, installation_id }) }
  })
  for (const { names, wanted } of services) {
    const { namespace, labels, cluster, tls: name } = names
    const put = (manifest: Manifest) =>
      // A manifest has every member that the fake needs of an object.
      api.store.apply(pathOf({ kind: manifest.kind, ...manifest.metadata }), manifest as unknown as Held)
    const metadata = { name: namespace, labels: names.namespace_labels }
    if (api.store.find(`/api/v1/namespaces/${namespace}`) === undefined)
      put({ apiVersion: 'v1', kind: 'Namespace', metadata })
    api.store.merge(`/api/v1/namespaces/${namespace}`, {
      metadata: { annotations: { [memberOf(wanted.service_id)]: '' } },
    })
    put(networkPolicyOf(names, settings))
    put(adminSecretOf(names, wanted))
    for (const one of await tlsChanges({ authority, settings }, { namespace, name, labels, cluster }, [], new Date()))
      if ('apply' in one) put(one.apply)
    put(nodePortOf({ namespace, name: names.public, labels, selector: primaryOf(cluster), at: wanted.home }))
    put(
      clusterOf({
        names,
        settings,
        wanted,
        major: 17,
        instances: 1,
        sync: 0,
        quorum: false,
        hibernated: true,
        switchover: {},
        bootstrap: newDatabase(names, []),
      }),
    )
    addOperators(api, names)
  }
  await insertRows(storeUrlOf(data_dir), services)
  return services
}

/** What the operator makes of a Cluster and leaves of a paused one. */
function addOperators({ store }: FakeApi, { namespace, cluster, labels }: ServiceNames): void {
  const own = { ...labels, 'cnpg.io/cluster': cluster }
  const metadataOf = (name: string) => ({ name, namespace, labels: own, annotations: {} })
  const add = (plural: string, kind: string, name: string) =>
    store.apply(`/api/v1/namespaces/${namespace}/${plural}/${name}`, {
      apiVersion: 'v1',
      kind,
      metadata: { ...metadataOf(name), uid: '', resourceVersion: '', generation: 0 },
    })
  for (const end of ['ca', 'replication']) add('secrets', 'Secret', `${cluster}-${end}`)
  for (const end of ['rw', 'r', 'ro']) add('services', 'Service', `${cluster}-${end}`)
  add('persistentvolumeclaims', 'PersistentVolumeClaim', `${cluster}-1`)
  store.merge(`/apis/postgresql.cnpg.io/v1/namespaces/${namespace}/clusters/${cluster}`, {
    status: {
      phase: 'Cluster in healthy state',
      instances: 1,
      instanceNames: [`${cluster}-1`],
      currentPrimary: `${cluster}-1`,
      targetPrimary: `${cluster}-1`,
      image: 'postgresql:17',
      conditions: ['cnpg.io/hibernation', 'ContinuousArchiving', 'Ready'].map((type) => ({
        type,
        status: 'True',
        reason: 'Hibernated',
        message: 'as the operator says it',
        lastTransitionTime: '2026-03-01T12:00:00Z',
      })),
      certificates: { clientCASecret: `${cluster}-ca`, replicationTLSSecret: `${cluster}-replication` },
    },
  })
}

async function insertRows(url: string, services: readonly Stored[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const of = (read: (one: WantedService) => string | number) => services.map(({ wanted }) => read(wanted))
  const [ids, projects, ports] = [
    of(({ service_id }) => service_id),
    of(({ project_id }) => project_id),
    of(({ home }) => home.port),
  ]
  await client.query(`insert into projects (id, name) select distinct p, p from unnest($1::text[]) as p`, [projects])
  await client.query(
    `insert into services (service_id, project_id, name, region_code, service_type, environment, password_verifier, power,
       state, settled_generation, observed_at)
     select s, p, s, $3, 'POSTGRES', 'DEV', $4, 'off', 'stopped', 1, now() from unnest($1::text[], $2::text[]) as t (s, p)`,
    [ids, projects, region, services[0]?.wanted.password_verifier],
  )
  await client.query(
    `insert into addresses (region_code, host, port, owner_id, role)
     select $3, $4, n, s, 'service' from unnest($1::text[], $2::int[]) as t (s, n)`,
    [ids, ports, region, host],
  )
  await client.query('vacuum analyze')
  await client.end()
}

/** Every service had its pass since then. */
async function untilPassed(data_dir: string, since: number): Promise<void> {
  const client = new pg.Client({ connectionString: storeUrlOf(data_dir) })
  await client.connect()
  const old = `select count(*)::int as n from services where observed_at < now() - $1 * interval '1 second'`
  for (;;) {
    const passed = (performance.now() - since) / 1000
    const { rows } = await client.query<{ n: number }>(old, [passed])
    if (rows[0]?.n === 0) break
    await pause(500)
  }
  await client.end()
}

/** A person wakes a paused service with kubectl; the time until a pass has told the operator otherwise. */
async function change({ store, asked }: FakeApi, one: Stored | undefined): Promise<number> {
  if (one === undefined) throw new Error('there is no such service')
  const { namespace, cluster } = one.names
  const path = `/apis/postgresql.cnpg.io/v1/namespaces/${namespace}/clusters/${cluster}`
  const from = asked.length
  const begun = performance.now()
  store.merge(path, { metadata: { annotations: { 'cnpg.io/hibernation': 'off' } } })
  while (!asked.slice(from).includes(`PATCH ${path}`)) {
    if (performance.now() - begun > 60_000) throw new Error(`no pass over ${cluster}`)
    await pause(1)
  }
  const took = performance.now() - begun
  await pause(200)
  return took
}
