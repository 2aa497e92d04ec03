// The objects of a pooler: PgBouncer in a Pod of its own, its settings, and the Service at which clients reach it. Pure.
import { pooler_role } from '../../postgres/names.ts'
import { poolerSettingsOf } from '../../postgres/pooler-settings.ts'
import { connectionsOf } from '../../postgres/size.ts'
import type { Endpoint, Size } from '../../provider.ts'
import type { Manifest } from '../api/kinds.ts'
import { digestOf, signed } from '../cell.ts'
import { pooler_label } from '../names.ts'
import { nodePortOf } from '../cluster/access.ts'
import { pooler_port as port } from '../cluster/ports.ts'
import { type Named, reloaded, secretOf } from '../cluster/secrets.ts'

/** Of a service, or of a replica set. */
export type PoolerSpec = {
  namespace: string
  name: string
  labels: Readonly<Record<string, string>>
  image: string
  /** The Secret with the certificate. */
  tls: string
  /** The Secret with the password of the pooler's role. */
  role_secret: string
  /** The Service of the operator behind which PostgreSQL is. */
  target: string
  size: Size
  at: Endpoint
  replicas: 0 | 1
}

/** The oldest that the image may have: what newer ones can do more is not used. */
const version = '1.21.0'

export function roleSecretOf({ namespace, name, labels }: Named, password: string): Manifest {
  return {
    ...secretOf({ namespace, name, labels: { ...labels, ...reloaded } }),
    type: 'kubernetes.io/basic-auth',
    stringData: { username: pooler_role, password },
  }
}

export const settingsNameOf = (name: string) => `${name}-settings`

/** Logins are looked up in PostgreSQL one by one. No password fits the user that PgBouncer knows by itself. */
export function settingsOf(spec: Omit<PoolerSpec, 'replicas' | 'image'>, password: string): Manifest {
  const { namespace, name, labels, target, size } = spec
  const settings = poolerSettingsOf({
    listen: { host: '*', port },
    target_sockets: target,
    target_port: 5432,
    certificate: '/tls/tls.crt',
    key: '/tls/tls.key',
    target_authority: '/tls/ca.crt',
    pid_file: '',
    users_file: '/settings/users.txt',
    max_connections: connectionsOf(size),
    version,
  })
  const users = `"${pooler_role}" "${password}"\n"pgbouncer" "md5${'0'.repeat(32)}"\n`
  return signed(
    {
      ...secretOf({ namespace, name: settingsNameOf(name), labels }),
      type: 'Opaque',
      stringData: { 'pgbouncer.ini': settings, 'users.txt': users },
    },
    { settings },
  )
}

/** A change of settings or certificate starts a new Pod, and the old one ends when the new one is ready. */
export function deploymentOf(spec: PoolerSpec, contents: readonly (string | undefined)[]): Manifest {
  const { namespace, name, labels, image, tls, replicas } = spec
  const app = podsOf(name)
  const mount = (volume: string) => ({ name: volume, mountPath: `/${volume}`, readOnly: true })
  return signed({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas,
      selector: { matchLabels: app },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: { labels: { ...labels, ...app }, annotations: { 'howdah/contents': digestOf(contents) } },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 10,
          securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
          containers: [
            {
              name: 'pgbouncer',
              image,
              command: ['pgbouncer', '/settings/pgbouncer.ini'],
              ports: [{ name: 'pooler', containerPort: port, protocol: 'TCP' }],
              readinessProbe: { tcpSocket: { port }, periodSeconds: 2 },
              resources: { requests: { cpu: '10m', memory: '32Mi' }, limits: { cpu: '1', memory: '256Mi' } },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
              volumeMounts: [mount('settings'), mount('tls')],
            },
          ],
          volumes: [
            { name: 'settings', secret: { secretName: settingsNameOf(name) } },
            { name: 'tls', secret: { secretName: tls } },
          ],
        },
      },
    },
  })
}

export const poolerServiceOf = ({ namespace, name, labels, at }: PoolerSpec): Manifest =>
  nodePortOf({ namespace, name, labels, at, selector: podsOf(name), target_port: port })

const podsOf = (name: string) => ({ [pooler_label]: name })
