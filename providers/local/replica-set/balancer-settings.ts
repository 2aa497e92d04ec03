// The settings of the balancer of a replica set: its nodes, who may connect, and how it checks their health. Pure.
//
// Round robin, not fewest connections: a node that refuses all clients quickly always has the fewest, and would get them all.
import type { Endpoint } from '../../provider.ts'
import {
  asked_nodes,
  connection_defaults,
  haproxySettingsOf,
  section,
  serverOf,
  wordOf,
  type HaproxySettings,
} from '../haproxy/settings.ts'
import { master_role } from '../../postgres/names.ts'

export type BalancedNode = {
  node: number
  /** The folder of its unix socket: for the pooler, which needs no TLS, and for health checks. */
  sockets: string
  /** For clients: PostgreSQL speaks TLS over TCP only. */
  address: Endpoint
}

export type BalancerSpec = {
  listen: Endpoint
  /** The folder of its own unix sockets: one for the pooler, named like PostgreSQL's, and one for us. */
  sockets: string
  nodes: readonly BalancedNode[]
  connections_max: number
  /** What brings it into its network: a balancer that runs in another network is replaced. */
  prefix: readonly string[]
}

export function balancerSettingsOf(spec: BalancerSpec): HaproxySettings {
  const { sockets, connections_max, prefix: words } = spec
  return haproxySettingsOf({ name: 'balancer', sockets, connections_max, body: bodyOf(spec), words })
}

function bodyOf({ listen, sockets, nodes }: BalancerSpec): string {
  const by_address = ({ node, address }: BalancedNode) => `server node_${node} ${address.host}:${address.port}`
  const by_socket = (one: BalancedNode) => `server node_${one.node} ${socketOf(one.sockets, one.address.port)}`
  const each = (lineOf: (node: BalancedNode) => string) => nodes.map(lineOf)
  return [
    section('defaults', defaults),
    section('frontend customers', [
      `bind ${listen.host}:${listen.port}`,
      // Rather an unhealthy node than none at all: it may answer, and else reports itself what is wrong.
      'use_backend any_node if { nbsrv(customers_nodes) lt 1 }',
      'default_backend customers_nodes',
    ]),
    section('frontend pooler', [`bind ${socketOf(sockets, listen.port)} mode 600`, `default_backend ${asked_nodes}`]),
    section(`backend ${asked_nodes}`, [...health_check, ...each((node) => `${by_socket(node)} check`)]),
    section(
      'backend customers_nodes',
      each((node) => `${by_address(node)} track ${serverOf(node.node)}`),
    ),
    section('backend any_node', each(by_address)),
  ].join('')
}

const defaults = [
  ...connection_defaults,
  'balance roundrobin',
  'timeout connect 2s',
  'timeout check 2s',
  // A node that refuses a connection is not tried again for it: the next takes it, at once.
  'retries 3',
  'option redispatch 1',
] as const

/**
 * A login as the master role, closed where the password is asked for: neither PostgreSQL's log nor its statistics show
 * it. A node that is full is healthy. Seldom, because each costs a process; a death is noticed without it.
 */
const health_check = [
  'option tcp-check',
  `tcp-check send-binary ${startupMessageHex()}`,
  `tcp-check expect rbinary ^52|${Buffer.from('53300').toString('hex')}`,
  'default-server inter 5s fastinter 300ms downinter 300ms fall 2 rise 1',
] as const

function startupMessageHex(): string {
  const body = Buffer.from(`user\0${master_role}\0\0`)
  const head = Buffer.alloc(8)
  head.writeInt32BE(head.length + body.length, 0)
  head.writeInt32BE(196_608, 4)
  return Buffer.concat([head, body]).toString('hex')
}

const socketOf = (folder: string, port: number) => wordOf(`unix@${folder}/.s.PGSQL.${port}`)
