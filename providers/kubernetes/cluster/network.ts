// Who may open a connection to the Pods of a project, and at which ports. Pure. It holds where the network of the cell enforces
// NetworkPolicies. What Pods open themselves is free: to the object store, to each other, to the API server.
import type { Manifest } from '../api/kinds.ts'
import { type CellSettings, signed } from '../cell.ts'
import type { ServiceNames } from '../names.ts'
import { pooler_port, postgres_port } from './ports.ts'

/** At which the operator's program in each Pod tells its state, and its metrics. */
const status_ports = [8000, 9187]
/** Of the operator's own Pods, wherever it is installed. */
const operator_labels = { 'app.kubernetes.io/name': 'cloudnative-pg' }

type Settings = Pick<CellSettings, 'control_plane'>

/** The addresses of the API server are known to no object of a cell: without them its ports are open to the whole cluster. */
export function networkPolicyOf(
  { namespace, network, namespace_labels }: ServiceNames,
  { control_plane }: Settings,
): Manifest {
  const known = [
    { podSelector: {} },
    { namespaceSelector: {}, podSelector: { matchLabels: operator_labels } },
    ...(control_plane ?? []).map((cidr) => ({ ipBlock: { cidr } })),
  ]
  const manifest: Manifest = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: network, namespace, labels: namespace_labels },
    spec: {
      podSelector: {},
      policyTypes: ['Ingress'],
      ingress: [
        // Clients, at node ports: their addresses are those of nodes, or any.
        { ports: [postgres_port, pooler_port].map(tcp) },
        { ...(control_plane && { from: known }), ports: status_ports.map(tcp) },
      ],
    },
  }
  return signed(manifest)
}

const tcp = (port: number) => ({ protocol: 'TCP', port })
