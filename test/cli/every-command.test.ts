// Every derived command runs once, as people type it, against a server: a new endpoint needs a row here, and nothing else.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { api, type EndpointName } from '#contract/api.ts'
import { commandOf, effectOf } from '#contract/command.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import { derivedCommands } from '#cli/user/command-of.ts'
import { extras } from '#cli/user/extras.ts'
import { commands_by_hand } from '#cli/user/by-hand.ts'
import { named_things } from '#cli/user/ids.ts'
import { user_commands } from '#cli/user/main.ts'
import { namesOf } from '#cli/command.ts'
import { loginIdOf } from '#server/oauth/logins.ts'
import { saveRecord } from '#server/oauth/records.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { type Callers, openCallers, userCredential, userVerifier } from '#test/http/callers.ts'
import { startInRegion } from '#test/http/region.ts'
import type { TestInstallation } from '#test/installation.ts'
import { newCall } from '#test/call.ts'
import { until } from '#test/until.ts'
import { howdahHere } from './user.ts'

let installation: TestInstallation
let callers: Callers
let home = ''
let credential = ''

beforeAll(async () => {
  home = newDataDir()
  installation = await startInRegion({ verifiers: [userVerifier], config: { undelete: 3600 } })
  callers = await openCallers(installation)
  const owner = await callers.newToken('owner')
  credential = userCredential(owner)
  await saveRecord(callers.db, {
    model: 'Grant',
    id: grant_id,
    payload: { clientId: 'howdah-cli', iat: Math.floor(Date.now() / 1000) },
    user_id: owner.user_id,
    expires_at: new Date(Date.now() + 3_600_000),
  })
  const files = { HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home, PGPASSFILE: join(home, '.pgpass') }
  const session = {
    HOWDAH_SERVER: installation.server.url,
    HOWDAH_TOKEN: credential,
    HOWDAH_PROJECT: installation.project_id,
  }
  for (const [name, value] of Object.entries({ ...files, ...session })) vi.stubEnv(name, value)
  writeFileSync(join(home, 'password'), 'a long new password\n')
})

afterAll(async () => {
  vi.unstubAllEnvs()
  await callers?.close()
  await installation?.stop()
  await removeDataDir(home)
})

const at = '2026-11-15T10:00:00Z'

/** In an order in which each finds what it needs. `{…}` is filled with what an earlier row printed by that name. */
const rows: readonly [name: EndpointName, words: string, kept?: string][] = [
  ['getAuthInfo', 'auth info'],
  ['listLogins', 'login list'],
  ['endLogin', 'login end {login} --yes'],
  ['getCapabilities', 'capabilities get'],
  ['getCaCertificate', 'ca get'],
  ['listProjects', 'project list'],
  ['createProject', 'project create second', 'second'],
  ['renameProject', 'project rename third --project {second}'],
  ['deleteProject', 'project delete --project third --yes'],
  ['addMember', 'member add --email ada@example.com --role viewer'],
  ['listMembers', 'member ls'],
  ['setMemberRole', 'member set-role ada@example.com --role developer'],
  ['createLoginLink', 'member create-login-link ada@example.com'],
  ['removeMember', 'member remove ada@example.com -y'],
  ['createToken', 'token create ci --role viewer --expires 7d', 'token'],
  ['listTokens', 'token list'],
  ['revokeToken', 'token revoke ci --yes'],
  ['listAudit', 'project audit'],
  ['createService', 'service create shop --cpu 500 --environment DEV', 'shop'],
  ['listServices', 'service list'],
  ['getService', 'service show shop'],
  ['renameService', 'service rename shop market'],
  ['setEnvironment', 'service set-environment market --environment PROD'],
  ['resizeService', 'service resize market --cpu 1000 --yes'],
  ['setProtection', 'service set-protection market --protected no'],
  ['setExpiry', 'service set-expiry market --expires 2h'],
  ['setHA', 'service set-ha market --replicas 1'],
  ['switchover', 'service switchover market --yes'],
  ['listServiceEvents', 'service events market'],
  ['listProjectEvents', 'project events'],
  ['enablePooler', 'service enable-pooler market'],
  ['disablePooler', 'service disable-pooler market -y'],
  ['updatePassword', 'service update-password market --yes --password @{home}/password'],
  ['getServiceLogs', 'service logs market --since 1h -n 10'],
  ['getLogHistogram', 'service logs-histogram market'],
  ['listMetricSeries', 'service metrics-available-series market'],
  ['getMetricSeries', `service metrics-series market --name connections --from ${at} --to 2026-11-15T11:00:00Z`],
  ['setSnapshotPolicy', 'service set-snapshot-policy market --every 6h --keep 7d'],
  ['takeSnapshot', 'snapshot take market', 'snapshot'],
  ['listSnapshots', 'snapshot list market'],
  ['deleteSnapshot', 'snapshot rm market {snapshot} -y'],
  ['runQuery', 'service sql market --query values(1) --row-limit 1'],
  ['drillService', 'service drill market'],
  ['getRestorable', 'service restorable market'],
  ['rewindService', 'service rewind market --at {now} --yes'],
  ['undoRewind', 'service undo-rewind market --yes'],
  ['forkService', 'service fork market --now --name copy', 'copy'],
  ['resetService', 'service reset copy --yes'],
  ['getLineage', 'project lineage'],
  ['createReplicaSet', 'replica-set create market readers --nodes 1 --cpu 500', 'set'],
  ['listReplicaSets', 'replica-set list market'],
  ['resizeReplicaSet', 'replica-set resize market readers --cpu 1000 --yes'],
  ['getReplicaSetLogs', 'replica-set logs market readers'],
  ['setReplicaSetEnvironment', 'replica-set set-environment market readers --environment DEV'],
  ['enableReplicaSetPooler', 'replica-set enable-pooler market readers'],
  ['disableReplicaSetPooler', 'replica-set disable-pooler market readers --yes'],
  ['deleteReplicaSet', 'replica-set delete market readers --yes'],
  ['createVpc', 'vpc create home --cidr 10.64.0.0/24', 'vpc'],
  ['listVpcs', 'vpc list'],
  ['getVpc', 'vpc get home'],
  ['renameVpc', 'vpc rename home office'],
  [
    'createPeering',
    'peering create office --peer-account-id other00000 --peer-region-code local --peer-vpc-id 99',
    'peering',
  ],
  ['listPeerings', 'peering list office'],
  ['listProjectPeerings', 'project peerings'],
  ['getPeering', 'peering get office {peering}'],
  ['deletePeering', 'peering delete office {peering} --yes'],
  ['attachToVpc', 'service attach market --vpc office --yes'],
  ['detachFromVpc', 'service detach market --yes'],
  ['deleteVpc', 'vpc delete office --yes'],
  ['startService', 'service resume copy'],
  ['stopService', 'service pause copy'],
  ['deleteService', 'service delete market --yes'],
  ['listDeletedServices', 'deleted-service list'],
  ['restoreDeletedService', 'deleted-service undelete market'],
  ['purgeDeletedService', 'deleted-service purge copy --yes'],
  ['logout', 'auth logout'],
]
const kept = new Map<string, string>()
const grant_id = 'a grant of theirs'
const given: Record<string, () => string> = {
  home: () => home,
  now: () => new Date().toISOString(),
  login: () => loginIdOf(grant_id),
}

test('every endpoint is run', () => {
  expect(rows.map(([name]) => name).toSorted()).toEqual(Object.keys(api).toSorted())
})

test.each(rows)('%s: howdah %s', async (name, line, keeps) => {
  // Only a service that was stopped can be started.
  if (name === 'startService') expect((await howdahHere(['service', 'stop', 'copy'])).code).toBe(0)
  if (name === 'purgeDeletedService') expect((await howdahHere(['service', 'delete', 'copy', '-y'])).code).toBe(0)
  const words = line
    .split(' ')
    .map((word) => word.replaceAll(/\{(\w+)\}/g, (_, of: string) => given[of]?.() ?? kept.get(of) ?? ''))
  const endpoint: Endpoint = api[name]
  const ran = await howdahHere([...words, '-o', keeps === undefined ? 'json' : 'name'])
  const lack = lackOf(name)
  if (lack !== undefined) return expect(ran).toMatchObject({ code: 3, stderr: expect.stringContaining(lack) })
  expect(ran, ran.stderr).toMatchObject({ code: 0 })
  if (name === 'deleteService')
    expect(ran.stderr).toMatch(/: removed; until .* howdah deleted-service restore \w+ brings/)
  if (keeps !== undefined) kept.set(keeps, ran.stdout.trim())
  if (endpoint.method === 'GET' && !endpoint.path.endsWith('/logs')) {
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, id: string) => pathIds()[id] ?? '')
    const answered = () => newCall(installation.server.api_url, credential)<unknown>('GET', path)
    // What is under way may change between the two.
    await until(async () => {
      const { stdout } = await howdahHere([...words, '-o', 'json'])
      const printed: unknown = endpoint.output_type === undefined ? JSON.parse(stdout) : stdout || undefined
      return lastingOf(printed) === lastingOf((await answered()).body)
    })
  }
  // For people, too.
  if (effectOf(endpoint) === 'read') expect((await howdahHere(words)).code).toBe(0)
})

/** Why the region refuses it. */
function lackOf(name: EndpointName): string | undefined {
  const facts = [...installation.server.regions.values()][0]?.facts() ?? expect.fail()
  const needed: Partial<Record<EndpointName, typeof facts.drills>> = {
    runQuery: facts.queries,
    drillService: facts.drills,
  }
  const offer = needed[name]
  return offer === undefined || offer.offered ? undefined : offer.reason
}

const pathIds = (): Record<string, string | undefined> => ({
  project_id: installation.project_id,
  service_id: kept.get('shop'),
  vpc_id: kept.get('vpc'),
  peering_id: kept.get('peering'),
})

/** Without what passes by itself: moments, measurements. */
function lastingOf(value: unknown): string | undefined {
  return JSON.stringify(value, (key, member: unknown) => (/time|_at$|until|metrics/.test(key) ? '' : member))
}

test('no two commands have one name, and options have one meaning each', () => {
  const names = user_commands.flatMap(namesOf)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  for (const { options = {} } of user_commands) {
    const letters = Object.values(options).flatMap(({ short }) => short ?? [])
    expect(new Set(letters).size).toBe(letters.length)
  }
})

test('what is written by hand names endpoints that exist', () => {
  const known = Object.keys(api)
  expect(Object.keys(extras).filter((name) => !known.includes(name))).toEqual([])
  expect(Object.values(named_things).filter(({ list }) => !known.includes(list))).toEqual([])
  for (const { hidden = [], body } of Object.values(extras)) if (hidden.length > 0) expect(body).toBeDefined()
})

test('every endpoint has a command of its derived name', () => {
  const names = user_commands.map(({ name }) => name)
  const derived = derivedCommands().map(({ endpoint }) => commandOf(api[endpoint]))
  expect(derived.filter(({ noun, verb }) => !names.includes(`${noun} ${verb}`))).toEqual([])
  expect(commands_by_hand.filter(({ name }) => !names.includes(name))).toEqual([])
})

test('a password that is kept goes with its service into a VPC and out of it, also one that is set there', async () => {
  const run = async (line: string) => {
    const ran = await howdahHere(line.split(' '))
    expect([line, ran.code, ran.stderr]).toEqual([line, 0, expect.any(String)])
    return ran.stdout.trim()
  }
  const known = () => run('service connection-string mover --with-password --ca /ca')
  await run('service create mover')
  await run('vpc create garden --cidr 10.65.0.0/24')
  const outside = await known()
  await run('service attach mover --vpc garden --no-wait')
  const password = /:([\w-]+)@/.exec(outside)?.[1] ?? 'none'
  expect(await known()).toMatch(new RegExp(`:${password}@10\\.65\\.0\\.\\d+:5432/`))
  await installation.untilStatus(await run('service get mover -o name'), 'READY')
  const other = await run('service reset-password mover')
  await run('service detach mover')
  expect(await known()).toBe(outside.replace(password, other))
})
