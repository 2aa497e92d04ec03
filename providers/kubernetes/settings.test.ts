// Table tests of what the regions file says of a Kubernetes region, and of the kubeconfig that it names.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newBreaker } from './api/breaker.ts'
import { NoAnswer } from './api/errors.ts'
import { readAccess } from './api/kubeconfig.ts'
import { imageVersion } from './cluster/version.ts'
import { parseSettings } from './settings.ts'
import { quantityOf, resourcesOf } from './sizes.ts'

const least = { host: 'pg.example.org', catalog: 'howdah' }

test('what is left out has its default, and paths begin beside the file', () => {
  expect(parseSettings('eu-1', { ...least, kubeconfig: 'eu.yaml' }, '/etc/howdah/regions.json')).toEqual({
    ...least,
    kubeconfig: '/etc/howdah/eu.yaml',
    node_ports: { first: 30_000, last: 32_767 },
    storage_gbs: 20,
    extensions: [],
  })
})

test.each([
  [{ catalog: 'howdah' }, 'region eu-1 needs a host, at which clients reach its node ports'],
  [{ host: 'h' }, 'region eu-1 needs a catalog, the name of a ClusterImageCatalog'],
  [{ ...least, hots: 'h' }, /has the unknown member hots; known are kubeconfig/],
  [{ ...least, host: 7 }, 'region eu-1 has a host that must be a text'],
  [{ ...least, node_ports: '32000-31000' }, /has node_ports that must be like 30000-32767/],
  [{ ...least, storage_gbs: 0.5 }, /has a storage_gbs that must be a number from 1 to/],
  [{ ...least, cpu_overcommit: 0.5 }, 'region eu-1 has a cpu_overcommit that must be a number from 1 to 50'],
  [{ ...least, control_plane: [] }, 'region eu-1 has a control_plane that must be a list like ["192.0.2.0/28"]'],
  [{ ...least, control_plane: ['192.0.2.0/33'] }, /has a control_plane that must be a list/],
  [{ ...least, extensions: ['a; drop'] }, 'region eu-1 has extensions that must be a list of names'],
])('%j is refused', (members, words) => {
  expect(() => parseSettings('eu-1', members, '/r.json')).toThrow(words)
})

const yaml = `
current-context: one
contexts:
  - { name: one, context: { cluster: here, user: by-token } }
  - { name: two, context: { cluster: here, user: by-program } }
  - { name: three, context: { cluster: here, user: nowhere } }
clusters: [{ name: here, cluster: { server: "https://10.0.0.1:6443", certificate-authority-data: ${btoa('the authority')} } }]
users:
  - { name: by-token, user: { tokenFile: token } }
  - name: by-program
    user: { exec: { apiVersion: client.authentication.k8s.io/v1, command: /bin/echo, args: ['{"status": {"token": "printed"}}'] } }
`

test('a kubeconfig is read with its token file, its exec plugin, and its names', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-kubeconfig-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const kubeconfig = join(folder, 'config.yaml')
  writeFileSync(kubeconfig, yaml)
  writeFileSync(join(folder, 'token'), 'from a file\n')
  const server = { server: 'https://10.0.0.1:6443', ca: 'the authority' }
  expect(await readAccess({ kubeconfig })).toMatchObject({ ...server, token: 'from a file' })
  expect(await readAccess({ kubeconfig, context: 'two' })).toMatchObject({ ...server, token: 'printed' })
  await expect(readAccess({ kubeconfig, context: 'three' })).rejects.toThrow('has no user "nowhere"')
  await expect(readAccess({ kubeconfig, context: 'four' })).rejects.toThrow('has no context "four"')
})

test('after three silences the breaker answers at once, and later asks again', async () => {
  let now = 1_000
  const breaker = newBreaker(() => now)
  let asked = 0
  const silence = async () => {
    asked += 1
    throw new NoAnswer('no answer')
  }
  for (let turn = 0; turn < 5; turn += 1) await expect(breaker.run(silence)).rejects.toThrow(NoAnswer)
  expect(asked).toBe(3)
  now += 5_001
  expect(await breaker.run(async () => 'an answer')).toBe('an answer')
})

test('requests that wait for their turn while the breaker opens are not asked any more', async () => {
  const breaker = newBreaker(() => 1_000)
  const { promise: silence, reject: fallSilent } = Promise.withResolvers<never>()
  let asked = 0
  const runs = Array.from({ length: 30 }, () =>
    breaker.run(() => {
      asked += 1
      return silence
    }),
  )
  fallSilent(new NoAnswer('no answer'))
  for (const { status } of await Promise.allSettled(runs)) expect(status).toBe('rejected')
  expect(asked).toBe(8)
})

const broken = [
  ['its kubeconfig is neither YAML nor JSON', 'users: [{ name: me, user: { token: "s3cret" }'],
  ['its kubeconfig is neither YAML nor JSON', '{"users":[{"user":{"token": s3cret}}]}'],
  ['the program sh of its kubeconfig failed (7)', "['-c', 'echo s3cret >&2; exit 7']"],
  ['the program sh of its kubeconfig failed (SIGTERM)', "['-c', 'echo s3cret >&2; kill $$']"],
  ['the program sh of its kubeconfig printed no credential', "['-c', 'echo s3cret']"],
] as const

test.each(broken)('what fails of a kubeconfig is told without what it has: %s', async (words, part) => {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-kubeconfig-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const kubeconfig = join(folder, 'config.yaml')
  const user = `user: { exec: { apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, args: ${part} } }`
  writeFileSync(kubeconfig, part.startsWith('[') ? yaml.replace('user: { tokenFile: token }', () => user) : part)
  const failure = await readAccess({ kubeconfig }).catch((error: unknown) => error)
  expect(failure).toStrictEqual(new NoAnswer(words))
})

test.each(['auth-provider', 'as'])('a user of a kubeconfig that has %s is refused', async (name) => {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-kubeconfig-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const kubeconfig = join(folder, 'config.yaml')
  writeFileSync(kubeconfig, yaml.replace('{ tokenFile: token }', `{ token: x, ${name}: other }`))
  await expect(readAccess({ kubeconfig })).rejects.toThrow(
    `has ${name}; give it a certificate, a token, a token file or an exec plugin`,
  )
})

test.each([
  ['{ username: me, password: s3cret }', false],
  ['{ token: x, password: s3cret }', false],
  ['{ client-certificate-data: eA==, token: x, username: me, password: s3cret }', false],
  ['{ client-certificate-data: eA==, client-key-data: eQ==, username: me, password: s3cret }', true],
  ['{ client-certificate-data: eA==, client-key-data: eQ==, username: "", password: "" }', true],
])('a kubeconfig with the user %s is read: %s', async (user, is_read) => {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-kubeconfig-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const kubeconfig = join(folder, 'config.yaml')
  writeFileSync(kubeconfig, yaml.replace('{ tokenFile: token }', user))
  const access = readAccess({ kubeconfig })
  if (is_read) expect(await access).toMatchObject({ cert: 'x', key: 'y', token: undefined })
  else await expect(access).rejects.toThrow(/ has a username and password, which no API server accepts since/)
})

test.each([
  ['ghcr.io/cloudnative-pg/postgresql:17.5-3-bookworm@sha256:0011', 17, '17.5'],
  ['localhost:5000/postgresql:17', 17, '17'],
  ['registry/postgresql:latest', 18, '18'],
  ['registry:1700/postgresql', 18, '18'],
])('the version of %s is %s', (image, major, version) => {
  expect(imageVersion(image, major)).toBe(version)
})

test.each([
  [{}, '1', '4Gi'],
  [{ cpu_overcommit: 4 }, '250m', '4Gi'],
  [{ cpu_overcommit: 3 }, '334m', '4Gi'],
])('with %j a node of 1000 milli-cores and 4 GB asks for %s and %s', (settings, cpu, memory) => {
  const resources = resourcesOf({ cpu_millis: 1000, memory_gbs: 4 }, settings)
  expect(resources).toEqual({ requests: { cpu, memory }, limits: { cpu: '1', memory: '4Gi' } })
  expect(resourcesOf('shared', settings)).toEqual(resourcesOf('shared', {}))
})

test.each([
  ['1500m', 1.5],
  ['2', 2],
  ['3Gi', 3 * 2 ** 30],
  ['16384Ki', 2 ** 24],
  ['129e6', 129_000_000],
  ['5E3', 5000],
  ['2E', 2e18],
  ['1Pi', 2 ** 50],
  ['', 0],
])('the quantity %s', (text, number) => {
  expect(quantityOf(text)).toBe(number)
})
