// The installation's certificate authority and the certificates of its PostgreSQL servers (EC P-256).
// Promises: an authority is made once, key and certificate always belong together, also when two processes make it at once
// or one is killed while making it. The private key leaves its 0600 file only into memory.
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { X509Certificate as NodeCertificate, createPrivateKey, randomBytes } from 'node:crypto'
import { chmod, mkdir, open, readFile, readdir, rename } from 'node:fs/promises'
import { isIP } from 'node:net'
import { basename, dirname, join } from 'node:path'
import * as x509 from '@peculiar/x509'
import { removeTree } from '../host/tenant-files.ts'
import { syncOne } from '../host/tree.ts'

export type Authority = { certificate_pem: string; certificate: x509.X509Certificate; signing_key: CryptoKey }

/** Reads the authority in this directory and makes it if there is none. */
export async function ensureAuthority(directory: string): Promise<Authority> {
  const found = await findAuthority(directory)
  if (found) {
    await removeUnfinished(directory)
    return found
  }
  const unfinished = `${directory}.new-${randomBytes(6).toString('hex')}`
  try {
    await writeAuthority(unfinished)
    // Fails if another process was faster, for then the directory is not empty.
    await rename(unfinished, directory)
    await syncOne(dirname(directory))
  } catch (error) {
    await removeTree(unfinished)
    const theirs = await findAuthority(directory)
    if (theirs) return theirs
    throw error
  }
  const made = await findAuthority(directory)
  assert(made, 'an authority that was just made is there')
  return made
}

export async function newServerCertificate(
  authority: Authority,
  names: { common_name: string; hosts: readonly string[] },
): Promise<{ certificate_pem: string; key_pem: string }> {
  const keys = await newKeys()
  const certificate = await x509.X509CertificateGenerator.create({
    ...newValidity(server_days),
    serialNumber: newSerialNumber(),
    subject: [{ CN: [names.common_name] }],
    issuer: authority.certificate.subjectName.toJSON(),
    publicKey: keys.publicKey,
    signingKey: authority.signing_key,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.hosts.map((host) => ({ type: isIP(host) ? ('ip' as const) : ('dns' as const), value: host })),
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(authority.certificate.publicKey),
    ],
  })
  return { certificate_pem: `${certificate.toString('pem')}\n`, key_pem: await keyPem(keys.privateKey) }
}

/** Within 30 days: time enough to renew it in any pass, also on a host that is switched on once a week. */
export function certificateExpiresSoon(certificate_pem: string, now: Date): boolean {
  const expires = new NodeCertificate(certificate_pem).validToDate
  return expires.getTime() - now.getTime() < 30 * day_ms
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const day_ms = 86_400_000
const authority_days = 3650
/** The longest life that strict TLS clients accept. */
const server_days = 825

async function findAuthority(directory: string): Promise<Authority | undefined> {
  const [certificate_pem, key_pem] = await Promise.all([
    readIfThere(join(directory, 'ca.pem')),
    readIfThere(join(directory, 'ca.key')),
  ])
  if (certificate_pem === undefined && key_pem === undefined) return undefined
  if (certificate_pem === undefined || key_pem === undefined || !belongTogether(certificate_pem, key_pem)) {
    throw new Error(
      `the certificate authority in ${directory} is damaged: ca.pem and ca.key must both exist and belong together; ` +
        'restore them from a backup, or remove the directory to get a new authority, which every client must then trust anew',
    )
  }
  const key = createPrivateKey(key_pem).export({ type: 'pkcs8', format: 'der' })
  const signing_key = await crypto.subtle.importKey('pkcs8', key, algorithm, false, ['sign'])
  return { certificate_pem, certificate: new x509.X509Certificate(certificate_pem), signing_key }
}

function belongTogether(certificate_pem: string, key_pem: string): boolean {
  try {
    return new NodeCertificate(certificate_pem).checkPrivateKey(createPrivateKey(key_pem))
  } catch {
    return false
  }
}

/** Of killed processes. A process that is still making one removes its own, and finds the finished authority instead. */
async function removeUnfinished(directory: string): Promise<void> {
  for (const name of await readdir(dirname(directory))) {
    if (name.startsWith(`${basename(directory)}.new-`))
      await removeTree(join(dirname(directory), name)).catch(() => undefined)
  }
}

async function writeAuthority(directory: string): Promise<void> {
  const keys = await newKeys()
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...newValidity(authority_days),
    serialNumber: newSerialNumber(),
    name: [{ CN: [`Howdah CA ${randomBytes(4).toString('hex')}`] }],
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await writeDurably(join(directory, 'ca.key'), await keyPem(keys.privateKey), 0o600)
  await writeDurably(join(directory, 'ca.pem'), `${certificate.toString('pem')}\n`, 0o644)
  await chmod(directory, 0o711)
}

async function newKeys(): Promise<CryptoKeyPair> {
  return await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
}

async function keyPem(key: CryptoKey): Promise<string> {
  return `${x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`
}

/** Starts a day ago, for late clocks, this host's too when it is set back. */
function newValidity(days: number): { notBefore: Date; notAfter: Date } {
  const start = Date.now() - day_ms
  return { notBefore: new Date(start), notAfter: new Date(start + days * day_ms) }
}

/** Positive, and never zero in its first byte: both are rules of the format. */
function newSerialNumber(): string {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes.toString('hex')
}

async function writeDurably(path: string, text: string, mode: number): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.chmod(mode)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
