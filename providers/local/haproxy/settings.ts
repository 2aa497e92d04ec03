// What the settings of every HAProxy here have in common: it forwards bytes and understands none of them, so that TLS and
// passwords are between the client and PostgreSQL. Pure: the same spec gives the same text, and its hash is in it, by which a
// running process reports what it was started with. The text holds no secret.
import { hashOf } from '../postgres/settings.ts'

export type HaproxySettings = { text: string; hash: string }

/** Its purpose. Its files, its control socket and its control group are named after it. */
export type HaproxyName = 'balancer' | 'relay'

type Spec = {
  name: HaproxyName
  /** The folder of its control socket. */
  sockets: string
  connections_max: number
  /** The sections after the first one. */
  body: string
  /** More that the hash covers: a running process with another value here is replaced. */
  words: readonly string[]
}

/** The list of nodes whose use is read and changed; a balancer checks their health, and other lists follow it. */
export const asked_nodes = 'nodes'

export const serverOf = (node: number) => `${asked_nodes}/node_${node}`

export const controlSocketOf = (sockets: string, name: HaproxyName) => `${sockets}/${name}`

/** Besides the clients' connections: our own, and those that PostgreSQL is to refuse in its own words. */
const spare_connections = 100

export function haproxySettingsOf({ name, sockets, connections_max, body, words }: Spec): HaproxySettings {
  const head = section('global', [
    `maxconn ${connections_max + spare_connections}`,
    'nbthread 1',
    ...no_authorities,
    `stats socket ${wordOf(controlSocketOf(sockets, name))} mode 600 level admin expose-fd listeners`,
  ])
  const hash = hashOf([head, body, ...words])
  return {
    text: `# Written by Howdah; changes made here are undone by the next pass.\n${head}  description ${hash}\n${body}`,
    hash,
  }
}

/** For HTTP requests of its own, of which it makes none: it would load every CA of the system, which takes five times as long as the rest of its start. */
const no_authorities = ['.if version_atleast(2.6)', 'httpclient.ssl.verify none', '.endif'] as const

/** For connections of clients to PostgreSQL. */
export const connection_defaults = [
  'mode tcp',
  'timeout queue 2s',
  // A session may be idle for as long as its client likes; 24 days is the longest that HAProxy can count.
  'timeout client 24d',
  'timeout server 24d',
  // Clients that vanish without closing are noticed by TCP keepalives instead.
  'option clitcpka',
  'clitcpka-idle 5m',
  'clitcpka-intvl 30s',
  'clitcpka-cnt 4',
] as const

export function section(head: string, lines: readonly string[]): string {
  return `${head}\n${lines.map((line) => `  ${line}\n`).join('')}`
}

/** As one word, whatever the data directory is called. */
export function wordOf(text: string): string {
  return text.replaceAll(/[\\\s#'"]/g, String.raw`\$&`)
}
