// The certificate authority on disk, and real TLS with what it issues.
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, createServer } from 'node:tls'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ensureAuthority } from '#providers/local/postgres/authority.ts'
import { certificateExpiresSoon, newServerCertificate } from '#providers/postgres/certificate.ts'

let directory: string
let home: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'howdah-certificate-'))
  directory = join(home, 'ca')
})

afterEach(() => rmSync(home, { recursive: true, force: true }))

const names = { common_name: 'a1b2c3d4e5', hosts: ['127.0.0.1', 'localhost', '::1'] }

test('an authority is made once, its key for its owner only and its certificate for every user', async () => {
  const made = await ensureAuthority(directory)
  const found = await ensureAuthority(directory)
  expect(found.certificate_pem).toBe(made.certificate_pem)
  expect(readFileSync(join(directory, 'ca.pem'), 'utf8')).toBe(made.certificate_pem)
  const modes = ['', 'ca.pem', 'ca.key'].map((name) => (statSync(join(directory, name)).mode & 0o777).toString(8))
  expect(modes).toEqual(['711', '644', '600'])
  expect(new X509Certificate(made.certificate_pem).ca).toBe(true)
})

test('many making it at once get the same one and leave nothing beside it', async () => {
  const made = await Promise.all(Array.from({ length: 8 }, () => ensureAuthority(directory)))
  expect(new Set(made.map((each) => each.certificate_pem)).size).toBe(1)
  expect(readdirSync(home)).toEqual(['ca'])
})

test('what a killed maker left behind is cleaned up', async () => {
  mkdirSync(`${directory}.new-0123456789ab`)
  writeFileSync(join(`${directory}.new-0123456789ab`, 'ca.key'), '')
  await ensureAuthority(directory)
  await ensureAuthority(directory)
  expect(readdirSync(home)).toEqual(['ca'])
})

test('an authority without its key, or with a foreign one, is refused with a sentence and never replaced', async () => {
  const { certificate_pem } = await ensureAuthority(directory)
  await ensureAuthority(join(home, 'other'))
  writeFileSync(join(directory, 'ca.key'), readFileSync(join(home, 'other', 'ca.key')))
  await expect(ensureAuthority(directory)).rejects.toThrow('is damaged')
  unlinkSync(join(directory, 'ca.key'))
  await expect(ensureAuthority(directory)).rejects.toThrow('restore them from a backup')
  expect(readFileSync(join(directory, 'ca.pem'), 'utf8')).toBe(certificate_pem)
})

test.each(['127.0.0.1', 'localhost'])(
  'a client that trusts the authority accepts the server by the name %s',
  async (name) => {
    const authority = await ensureAuthority(directory)
    const { certificate_pem, key_pem } = await newServerCertificate(authority, names)
    const server = createServer({ cert: certificate_pem, key: key_pem }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo // a TCP server has no other kind of address
    const socket = connect({
      host: '127.0.0.1',
      port,
      ca: authority.certificate_pem,
      ...(name === 'localhost' ? { servername: name } : {}),
    })
    try {
      await once(socket, 'secureConnect')
      expect(socket.authorized).toBe(true)
    } finally {
      socket.destroy()
      server.close()
    }
  },
)

test('a server certificate names its hosts, cannot sign others, and does not work for a foreign authority', async () => {
  const authority = await ensureAuthority(directory)
  const other = await ensureAuthority(join(home, 'other'))
  const certificate = new X509Certificate((await newServerCertificate(authority, names)).certificate_pem)
  expect(certificate.subject).toBe('CN=a1b2c3d4e5')
  expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1')
  expect(certificate.checkHost('localhost')).toBe('localhost')
  expect(certificate.checkHost('example.com')).toBeUndefined()
  expect(certificate.ca).toBe(false)
  expect(certificate.verify(new X509Certificate(authority.certificate_pem).publicKey)).toBe(true)
  expect(certificate.verify(new X509Certificate(other.certificate_pem).publicKey)).toBe(false)
})

test('a certificate expires soon from 30 days before its end, 825 days after its start', async () => {
  const { certificate_pem } = await newServerCertificate(await ensureAuthority(directory), names)
  const { validFromDate, validToDate } = new X509Certificate(certificate_pem)
  const day_ms = 86_400_000
  const before = (days: number) => new Date(validToDate.getTime() - days * day_ms)
  expect((validToDate.getTime() - validFromDate.getTime()) / day_ms).toBe(825)
  expect([700, 31, 29, 0, -1].map((days) => certificateExpiresSoon(certificate_pem, before(days)))).toEqual([
    false,
    false,
    true,
    true,
    true,
  ])
})
