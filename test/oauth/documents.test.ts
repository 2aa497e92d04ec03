// Programs of agents that a document describes: one on the internet is read, and no caller can make the server ask for anything inside. The
// internet is an address on a host of the test's own making.
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newAuthority, newServerCertificate, parseAuthority } from '#providers/postgres/certificate.ts'
import { isOfInternet } from '#server/oauth/documents.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'

const can_make_hosts = spawnSync('unshare', ['--mount', '--net', 'ip', 'link']).status === 0
const why = can_make_hosts ? '' : ' (skipped: it takes a root that may mount, and iproute2)'

const program = 'https://agent.example:8443/program.json'
/** Each with what its user is told. */
const refused = {
  'https://agent.example:8443/of-another.json': 'does not match',
  'https://agent.example:8443/large.json': 'fetch failed',
  'https://agent.example:8443/moved.json': 'fetch failed',
  'https://agent.example:8443/leads-elsewhere.json': 'redirect_uris',
  'https://agent.example:8443/secret.json': 'shared-secret',
}
const inside = {
  'https://inside.example:8443/program.json': 'fetch failed',
  'https://both.example:8443/program.json': 'fetch failed',
  'https://127.0.0.1:8443/program.json': 'fetch failed',
  'https://2130706433:8443/program.json': 'fetch failed',
  'https://10.1.2.3:8443/program.json': 'fetch failed',
  'https://[::1]:8443/program.json': 'fetch failed',
  'https://[::ffff:10.1.2.3]:8443/program.json': 'fetch failed',
  'http://agent.example:8443/program.json': 'client is invalid',
}

test.skipIf(why)(`a document on the internet describes a program, and nothing inside is asked for${why}`, async () => {
  const folder = newDataDir()
  onTestFinished(() => removeDataDir(folder))
  const authority = await newAuthority()
  const signer = await parseAuthority(authority)
  if (signer === undefined) throw new Error('an authority can be read')
  const hosts = ['agent.example', 'inside.example', 'both.example', '127.0.0.1', '10.1.2.3', '::1']
  const site = await newServerCertificate(signer, { common_name: 'agent.example', hosts })
  const names = ['8.41.0.9 agent.example both.example', '127.0.0.1 localhost inside.example both.example']
  const files = { 'authority.pem': authority.certificate_pem, 'certificate.pem': site.certificate_pem }
  const all = { ...files, 'key.pem': site.key_pem, hosts: `${names.join('\n')}\n` }
  for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text)
  const host = [
    `mount --bind ${folder}/hosts /etc/hosts`,
    'ip link set lo up && ip address add 8.41.0.9/32 dev lo && ip address add 10.1.2.3/32 dev lo',
    'exec "$@"',
  ].join(' && ')
  const main = join(import.meta.dirname, 'documents-main.ts')
  const addresses = [program, ...Object.keys({ ...refused, ...inside })]
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', main, folder, ...addresses]
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem') }
  const words = ['--mount', '--net', '--', 'sh', '-ec', host, 'sh', ...node]
  const seen = JSON.parse(execFileSync('unshare', words, { encoding: 'utf8', env })) as Seen
  expect(seen.supported).toBe(true)
  expect(seen.asks).toContain('A program of agent.example:8443 that calls itself “Inspector” asks to read for')
  expect(seen.asks).toContain('You are sent on to localhost:7777.')
  expect(seen.tools).toContain('list_services')
  expect(seen.tools).not.toContain('delete_service')
  expect(seen.api).toBe(401)
  const told = Object.entries({ ...refused, ...inside })
  expect(seen.refused).toEqual(
    Object.fromEntries(told.map(([address, words]) => [address, expect.stringMatching(`^400 .*${words}`)])),
  )
  expect(new Set(seen.visits)).toEqual(new Set([program, ...Object.keys(refused)]))
})

type Seen = {
  supported: boolean
  asks: string
  tools: string
  api: number
  refused: Record<string, string>
  visits: string[]
}

test.each([
  ['8.8.8.8', true],
  ['2606:4700::1111', true],
  ['10.0.0.1', false],
  ['100.100.0.1', false],
  ['169.254.169.254', false],
  ['172.31.255.255', false],
  ['192.168.0.1', false],
  ['224.0.0.1', false],
  ['255.255.255.255', false],
  ['0.0.0.0', false],
  ['::', false],
  ['::1', false],
  ['::ffff:8.8.8.8', false],
  ['fd00::1', false],
  ['fe80::1', false],
  ['64:ff9b::a00:1', false],
  ['2002:a00:1::', false],
  ['agent.example', false],
])('%s is of the internet: %s', (address, expected) => {
  expect(isOfInternet(address)).toBe(expected)
})
