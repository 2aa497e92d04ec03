// Who reaches a Cluster and how. Clients: at a Service with a fixed node port that follows the primary, so the address outlives every
// failover. Replicas and forks: at the operator's own Service, by the certificate of the operator's own role. Pure.
import { master_database, pooler_role, standby_role } from '../../postgres/names.ts'
import type { Endpoint, Origin } from '../../provider.ts'
import type { Manifest } from '../api/kinds.ts'
import { signed } from '../cell.ts'
import type { ServiceNames } from '../names.ts'
import { postgres_port } from './ports.ts'

type Spec = {
  namespace: string
  name: string
  labels: Readonly<Record<string, string>>
  selector: Readonly<Record<string, string>>
  at: Endpoint
  /** At which its Pods listen; by default PostgreSQL's. */
  target_port?: number
}

export function nodePortOf({ namespace, name, labels, selector, at, target_port = postgres_port }: Spec): Manifest {
  return signed({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels },
    spec: {
      type: 'NodePort',
      selector,
      ports: [{ name: 'postgres', port: postgres_port, targetPort: target_port, nodePort: at.port, protocol: 'TCP' }],
    },
  })
}

export const primaryOf = (cluster: string) => ({ 'cnpg.io/cluster': cluster, 'cnpg.io/instanceRole': 'primary' })

/** For another Cluster of the same namespace. Never at `-ro`: a copy from a standby may wait for ever. */
export const originOf = ({ cluster, tls }: ServiceNames) => ({
  name: cluster,
  connectionParameters: {
    host: `${cluster}-rw`,
    user: 'streaming_replica',
    dbname: 'postgres',
    sslmode: 'verify-full',
  },
  sslKey: { name: `${cluster}-replication`, key: 'tls.key' },
  sslCert: { name: `${cluster}-replication`, key: 'tls.crt' },
  sslRootCert: { name: tls, key: 'ca.crt' },
})

/** What a Cluster calls the service of another region that it is copied from. */
export const elsewhere = 'elsewhere'

/** By address, which its certificate need not name: it is signed by the installation's own authority. */
export const originElsewhere = ({ copy }: ServiceNames, { endpoint, role }: Origin) => ({
  name: elsewhere,
  connectionParameters: {
    host: endpoint.host,
    port: String(endpoint.port),
    user: role,
    dbname: 'postgres',
    sslmode: 'verify-ca',
  },
  password: { name: copy, key: 'password' },
  sslRootCert: { name: copy, key: 'ca.crt' },
})

/**
 * After the operator's own rules. Clients come by TLS and SCRAM, not into the operator's database and not as roles of the control
 * plane; only the pooler does, from inside.
 */
export const client_rules = [
  'hostnossl all all all reject',
  `hostssl ${master_database} ${pooler_role} all scram-sha-256`,
  `hostssl all,replication postgres,${standby_role},${pooler_role} all reject`,
  'hostssl replication all all reject',
  'hostssl postgres,template1 all all reject',
]
