// The installation's certificate authority and the certificates that it signs for PostgreSQL servers (EC P-256), in memory. Where the
// authority's key is kept is a matter of the provider.
import 'reflect-metadata'
import { X509Certificate as NodeCertificate, createPrivateKey, randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import * as x509 from '@peculiar/x509'

/** `fingerprint`: by SHA-256. */
export type Authority = {
  certificate_pem: string
  certificate: x509.X509Certificate
  signing_key: CryptoKey
  fingerprint: string
}
export type Pair = { certificate_pem: string; key_pem: string }

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const day_ms = 86_400_000
const authority_days = 3650
/** The longest life that strict TLS clients accept. */
const server_days = 825
/** Enough to renew a certificate in time, also on a host that is switched on once a week. */
const renewal_days = 30

export async function newAuthority(): Promise<Pair> {
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
  return await pairOf(certificate, keys)
}

/** Undefined where key and certificate do not belong together. */
export async function parseAuthority({ certificate_pem, key_pem }: Pair): Promise<Authority | undefined> {
  if (!belongTogether(certificate_pem, key_pem)) return undefined
  const key = createPrivateKey(key_pem).export({ type: 'pkcs8', format: 'der' })
  const signing_key = await crypto.subtle.importKey('pkcs8', key, algorithm, false, ['sign'])
  const fingerprint = new NodeCertificate(certificate_pem).fingerprint256
  return { certificate_pem, certificate: new x509.X509Certificate(certificate_pem), signing_key, fingerprint }
}

export async function newServerCertificate(
  authority: Authority,
  names: { common_name: string; hosts: readonly string[] },
): Promise<Pair> {
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
  return await pairOf(certificate, keys)
}

/**
 * The fingerprint of a server's certificate with its key, in one text; undefined when it must be replaced: damaged, about to expire, for
 * other hosts or from another authority.
 */
export function usableFingerprint(pem: string, authority: Authority, hosts: readonly string[]): string | undefined {
  try {
    const certificate = new NodeCertificate(pem)
    const named = hosts.every((host) => (isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host)))
    const issued = certificate.verify(new NodeCertificate(authority.certificate_pem).publicKey)
    const whole = pem.trimEnd().endsWith('-----END PRIVATE KEY-----')
    return named && issued && whole && !certificateExpiresSoon(pem, new Date()) ? certificate.fingerprint256 : undefined
  } catch {
    return undefined
  }
}

export function certificateExpiresSoon(certificate_pem: string, now: Date): boolean {
  const expires = new NodeCertificate(certificate_pem).validToDate
  return expires.getTime() - now.getTime() < renewal_days * day_ms
}

function belongTogether(certificate_pem: string, key_pem: string): boolean {
  try {
    return new NodeCertificate(certificate_pem).checkPrivateKey(createPrivateKey(key_pem))
  } catch {
    return false
  }
}

async function newKeys(): Promise<CryptoKeyPair> {
  return await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
}

async function pairOf(certificate: x509.X509Certificate, { privateKey }: CryptoKeyPair): Promise<Pair> {
  const key = await crypto.subtle.exportKey('pkcs8', privateKey)
  const key_pem = `${x509.PemConverter.encode(key, 'PRIVATE KEY')}\n`
  return { certificate_pem: `${certificate.toString('pem')}\n`, key_pem }
}

/** Starts a day ago, for clocks that are late, this host's too when it is set back. */
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
