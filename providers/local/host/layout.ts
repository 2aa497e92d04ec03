// Where all files of the local provider are, and under which user. Pure: the same directory, service and port give
// the same names for ever, because every later pass finds things by these names alone.
//
// What PostgreSQL writes (data, log, sockets) belongs to the service's own user. What we write (settings, key) belongs
// to us in a folder of ours that this user may only read, so a broken-out backend cannot plant links for root to follow.
import { join } from 'node:path'
import { first_service_uid, type Owner } from '../../host/user-map.ts'

/** The kernel's limit for the path of a unix socket, without the closing zero. */
const socket_path_bytes_max = 107
const service_id_bytes_max = 16

export type Node = ReturnType<typeof nodeOf>

/**
 * Of a node in its service. `relayed`: the primary too, but promoted where it ran as a standby, so that it listens there still and
 * a relay has the endpoint.
 */
export type Role = 'primary' | 'relayed' | 'standby'

/** `as_root`: whether we may, and therefore do, run each service under a user of its own. */
export function nodeOf(directory: string, service_id: string, port: number, as_root: boolean) {
  const owner: Owner | undefined = as_root
    ? { uid: first_service_uid + port, gid: first_service_uid + port }
    : undefined
  return nodeIn(join(directory, 'services', service_id), join(directory, 'run', service_id), {
    service_id,
    owner,
    /** Where PostgreSQL listens; its unix socket is named after it too. */
    port,
  })
}

type Named = { service_id: string; owner: Owner | undefined; port: number }

function nodeIn(home: string, sockets: string, named: Named) {
  return {
    ...named,
    /** Which of the service's nodes; 0 is the node with which it was created. */
    number: 0,
    role: 'primary' as Role, // one of three, not this literal
    home,
    /** The folder of this node alone. */
    node_home: home,
    /** A home that is being deleted, moved aside by one rename. */
    home_removed: `${home}.gone`,
    /** Data that a copy elsewhere gave back, before there is a home. */
    fetched: `${home}.fetched`,
    data: join(home, 'data'),
    data_aside: join(home, 'data.new'),
    /** Finished WAL, written by PostgreSQL itself; pruned by us, but never beyond the oldest snapshot. */
    archive: join(home, 'archive'),
    /** Ours alone: a service cannot change its snapshots. */
    snapshots: join(home, 'snapshots'),
    /** What is copied off the machine: links to the archived WAL, and the WAL that is not archived yet. Ours alone. */
    backup: join(home, 'backup'),
    /** WAL of the parent for the replay to a moment, until the fork is made. */
    restore: join(home, 'restore'),
    /** How far the replay to a moment has come, or why it can never get there. */
    replay: join(home, 'replay.json'),
    /** Which exchange of its data is under way or was the last, and the timelines that the service has left so. */
    exchange: join(home, 'exchange.json'),
    /** The data of before an exchange, until the snapshot of them is taken. Ours alone. */
    before: join(home, 'before'),
    /** The WAL that a lost primary wrote last, for the node that takes over. */
    tail: join(home, 'tail'),
    /** Names the process that is copying in this home. */
    copying: join(home, 'copying'),
    /** Names the process that is making this node's data. */
    making: join(home, 'making'),
    /** Useless data of a node, moved aside by one rename. */
    data_removed: join(home, 'data.gone'),
    /** Since when a standby does not stream, although its primary serves. */
    not_streaming: join(home, 'not-streaming'),
    /** For which standbys commits wait, as PostgreSQL reads it. */
    synchronous: join(home, 'synchronous.conf'),
    /** Whether it takes writes, as PostgreSQL reads it. */
    writes: join(home, 'writes.conf'),
    log: join(home, 'log'),
    settings: join(home, 'howdah.conf'),
    hba: join(home, 'pg_hba.conf'),
    ident: join(home, 'pg_ident.conf'),
    certificate: join(home, 'server.pem'),
    start_log: join(home, 'start.log'),
    /** Names the postmaster that was told to stop, and since when. */
    stopping: join(home, 'stopping'),
    /** Names the postmaster that was told to read its files again, what they said, and when. */
    reloaded: join(home, 'reloaded'),
    sockets,
    /** The socket folder of the primary, whichever node that is. */
    service_sockets: sockets,
  }
}

/** The same service listening at another port, as it does in a VPC. Its user stays. */
export const listeningAt = (node: Node, port: number): Node => ({ ...node, port })

/**
 * Another node of the same service. The primary listens in the service's own socket folder, or a link leads from there to it, so that
 * standbys and the pooler always find it there; a standby has a folder of its own.
 */
export function nodeAt(node: Node, number: number, role: Role): Node {
  const home = number === 0 ? node.home : join(node.home, `node-${number}`)
  return {
    ...node,
    number,
    role,
    node_home: home,
    data: join(home, 'data'),
    data_aside: join(home, 'data.new'),
    data_removed: join(home, 'data.gone'),
    tail: join(home, 'tail'),
    making: join(home, 'making'),
    not_streaming: join(home, 'not-streaming'),
    log: join(home, 'log'),
    settings: join(home, 'howdah.conf'),
    start_log: join(home, 'start.log'),
    stopping: join(home, 'stopping'),
    reloaded: join(home, 'reloaded'),
    sockets: role === 'primary' ? node.service_sockets : `${node.service_sockets}.${number}`,
  }
}

/** Where data for the service is made ready by a server of its own, which no client reaches, before it takes the place of the node's. */
export function preparedOf({ home, service_sockets, certificate, number, service_id, owner, port }: Node): Node {
  const own = nodeIn(join(home, 'prepared'), `${service_sockets}.new`, { service_id, owner, port })
  return { ...own, certificate, number }
}

/** Addresses of the loopback network, 127.0.0.0/8, from here on: far from those that people use by hand. */
const first_loopback_block = 100

/** Of one of several nodes behind one endpoint. The endpoint's port, unique on this host, makes the address unique too. */
export const nodeHostOf = (endpoint_port: number, number: number): string =>
  `127.${first_loopback_block + number}.${endpoint_port >> 8}.${endpoint_port & 255}`

export const groupOf = ({ service_id, number }: Node): string => (number === 0 ? service_id : `${service_id}-${number}`)

/** A server with clients of its own: of a service only the primary has some, whichever node that is; of a set each node. */
export const clientsKeyOf = ({ service_id, role, number }: Node): string =>
  role === 'standby' ? `${service_id}/${number}` : service_id

/** The port of the service whose files have this owner: the inverse of `nodeOf`. */
export const portOf = (owner: { uid: number }): number => owner.uid - first_service_uid

export function foldersOf(directory: string) {
  return {
    templates: join(directory, 'templates'),
    services: join(directory, 'services'),
    run: join(directory, 'run'),
    authority: join(directory, 'ca'),
    copies: join(directory, 'postgres'),
    /** Control files of our own, named by their contents. */
    extensions: join(directory, 'extensions'),
    /** What the server last wanted of each service. */
    wanted: join(directory, 'wanted'),
    /** Which process is at work on which service. */
    turns: join(directory, 'turns'),
  }
}

/** Space seldom comes by itself, and each attempt may take it from others until it fails. */
export const look_again_without_space_seconds = 30

/** Only the administrator can help; a later pass notices by itself. */
export function noSpaceSentence(directory: string): string {
  return `no space left on the disk of ${directory}; it goes on when there is space`
}

/** Why PostgreSQL could not make its sockets below this directory; undefined when it can. */
export function tooLongSentence(directory: string): string | undefined {
  const socket = join(directory, 'run', 'x'.repeat(service_id_bytes_max), '.s.PGSQL.65535')
  const excess = Buffer.byteLength(socket) - socket_path_bytes_max
  if (excess <= 0) return undefined
  return `the data directory ${directory} has a path that is ${excess} bytes too long for unix sockets; choose a shorter one`
}
