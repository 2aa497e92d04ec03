// The certificate and key of one service, both in one file, so that they are replaced together or not at all.
import { X509Certificate } from 'node:crypto'
import { newServerCertificate, usableFingerprint, type Authority } from '../../postgres/certificate.ts'
import { ensureFile, type Effect } from '../host/effect.ts'
import type { Node } from '../host/layout.ts'
import { readIfThere } from '../../host/read.ts'

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
