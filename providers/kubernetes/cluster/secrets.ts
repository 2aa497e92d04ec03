// The Secrets of a service. The master role's password is there as its verifier only; the certificate is signed by the installation's
// own authority, so clients verify servers of all regions alike.
import { X509Certificate } from 'node:crypto'
import { newServerCertificate } from '../../postgres/certificate.ts'
import { master_role } from '../../postgres/names.ts'
import type { Origin, WantedService } from '../../provider.ts'
import type { Manifest, Thing } from '../api/kinds.ts'
import { type Cell, type Change, isAsSigned, signed } from '../cell.ts'
import { certificateHostsOf, expiry_annotation, type ServiceNames } from '../names.ts'
import { named } from './look.ts'

export type Named = { namespace: string; name: string; labels: Readonly<Record<string, string>> }

/** The operator reads a Secret again when it changes. */
export const reloaded = { 'cnpg.io/reload': 'true' }
const renewal_ms = 30 * 86_400_000

export function adminSecretOf(
  { namespace, admin, labels }: ServiceNames,
  { password_verifier }: WantedService,
): Manifest {
  return signed({
    ...secretOf({ namespace, name: admin, labels: { ...labels, ...reloaded } }),
    type: 'kubernetes.io/basic-auth',
    stringData: { username: master_role, password: password_verifier },
  })
}

/** Of a copy that is being made; with it the copy can read its parent, and nothing else. */
export function copySecretOf({ namespace, copy, labels }: ServiceNames, { role, password, ca_pem }: Origin): Manifest {
  return signed({
    ...secretOf({ namespace, name: copy, labels }),
    stringData: { username: role, password, 'ca.crt': ca_pem },
  })
}

/** A new certificate when there is none, it is about to end, or it must name other hosts. */
export async function tlsChanges(
  { authority, settings }: Pick<Cell, 'authority' | 'settings'>,
  { namespace, name, labels, cluster }: Named & { cluster: string },
  secrets: readonly Thing[],
  now: Date,
): Promise<Change[]> {
  const hosts = certificateHostsOf(cluster, namespace, settings.host)
  const about = { hosts, authority: authority.fingerprint }
  const empty = signed(secretOf({ namespace, name, labels: { ...labels, ...reloaded } }), about)
  const there = named(secrets, name)
  const expires = Date.parse(there?.metadata.annotations?.[expiry_annotation] ?? '')
  if (isAsSigned(there, empty) && expires - now.getTime() > renewal_ms) return []
  const { certificate_pem, key_pem } = await newServerCertificate(authority, { common_name: cluster, hosts })
  const annotations = {
    ...empty.metadata.annotations,
    [expiry_annotation]: new X509Certificate(certificate_pem).validToDate.toISOString(),
  }
  const manifest = {
    ...empty,
    metadata: { ...empty.metadata, annotations },
    type: 'kubernetes.io/tls',
    stringData: { 'tls.crt': certificate_pem, 'tls.key': key_pem, 'ca.crt': authority.certificate_pem },
  }
  return [{ effect: 'tls secret: apply', apply: manifest }]
}

export const secretOf = ({ namespace, name, labels }: Named): Manifest => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace, labels },
})
