// The certificate and key of one service, both in one file, so that they are replaced together or not at all.
// A certificate that is damaged, about to expire, for other hosts or from another authority is replaced.
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { certificateExpiresSoon, newServerCertificate, type Authority } from './authority.ts'
import { ensureFile, type Effect } from '../host/effect.ts'
import { readIfThere } from '../host/read.ts'
import type { Node } from '../host/layout.ts'

/** Returns the certificate's fingerprint: a server that was started with another one must be started anew. */
export async function ensureCertificate(
  effect: Effect,
  node: Node,
  authority: Authority,
  hosts: readonly string[],
): Promise<string> {
  const there = await readIfThere(node.certificate)
  const fingerprint = there === undefined ? undefined : usableFingerprint(there, authority, hosts)
  if (fingerprint !== undefined) return fingerprint
  const made = await newServerCertificate(authority, { common_name: node.service_id, hosts })
  await ensureFile(effect, 'certificate', node.certificate, made.certificate_pem + made.key_pem, node.owner)
  return new X509Certificate(made.certificate_pem).fingerprint256
}

function usableFingerprint(pem: string, authority: Authority, hosts: readonly string[]): string | undefined {
  try {
    const certificate = new X509Certificate(pem)
    const named = hosts.every((host) => (isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host)))
    const issued = certificate.verify(new X509Certificate(authority.certificate_pem).publicKey)
    const whole = pem.trimEnd().endsWith('-----END PRIVATE KEY-----')
    return named && issued && whole && !certificateExpiresSoon(pem, new Date()) ? certificate.fingerprint256 : undefined
  } catch {
    return undefined
  }
}
