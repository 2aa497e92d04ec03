// The nodes of one service as they are on this host, found without asking the server: who is primary, which processes each
// has, who follows. For tests that break them.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { listPids } from '#providers/host/process.ts'
import { textOrNothing } from '#providers/host/read.ts'

const answer_ms_max = 5_000

export type Nodes = ReturnType<typeof nodesOf>

export function nodesOf(data_dir: string, service_id: string, port: number) {
  const home = join(data_dir, 'local', 'services', service_id)
  const sockets = join(data_dir, 'local', 'run', service_id)
  const dataOf = (node: number) => (node === 0 ? join(home, 'data') : join(home, `node-${node}`, 'data'))
  const primary = (): number => {
    const text = textOrNothing(join(home, 'primary.json'))
    return text === '' ? 0 : (JSON.parse(text) as { node: number }).node // written by providers/local/postgres/primary.ts
  }
  const list = () => {
    const names = readdirSync(home).flatMap((name) => /^node-(\d+)$/.exec(name)?.[1] ?? [])
    return [0, ...names.map(Number)].filter((node) => textOrNothing(join(dataOf(node), 'PG_VERSION')))
  }
  const postmaster = (node: number): number | undefined => {
    const pid = Number(textOrNothing(join(dataOf(node), 'postmaster.pid')).split('\n')[0])
    const words = textOrNothing(`/proc/${pid}/cmdline`).split('\0')
    return words.includes(dataOf(node)) ? pid : undefined
  }
  return {
    home,
    dataOf,
    primary,
    standbys: () => list().filter((node) => node !== primary()),
    postmaster,
    /** The processes of a node, its postmaster first. */
    processes: (node: number): number[] => {
      const pid = postmaster(node)
      return pid === undefined ? [] : [pid, ...childrenOf(pid)]
    },
    /** Sessions of the master role at this node. */
    backends: (node: number): number[] =>
      childrenOf(postmaster(node)).filter((pid) => textOrNothing(`/proc/${pid}/cmdline`).includes('tsdbadmin')),
    /** The process that leads from the endpoint to a primary that was promoted where it ran. */
    relay: (): number | undefined =>
      listPids().find((pid) => textOrNothing(`/proc/${pid}/cmdline`).includes(join(home, 'relay.cfg'))),
    /** The processes of the metadata store, its postmaster first. */
    store: (): number[] => {
      const pid = Number(textOrNothing(join(data_dir, 'store', 'data', 'postmaster.pid')).split('\n')[0])
      return pid > 0 ? [pid, ...childrenOf(pid)] : []
    },
    /** How many that could take over stream from the primary right now, and have replayed all but so many bytes. */
    streaming: async (behind_bytes_max = Infinity): Promise<number> => {
      // A stopped server answers no client.
      const timeouts = { connectionTimeoutMillis: answer_ms_max, query_timeout: answer_ms_max }
      const client = new pg.Client({ host: sockets, port, user: 'postgres', database: 'postgres', ...timeouts })
      client.on('error', () => undefined)
      try {
        await client.connect()
        const { rowCount } = await client.query(
          `select from pg_stat_replication where state = 'streaming' and application_name like 'node\\_%'
           and pg_current_wal_lsn() - replay_lsn <= $1::float8::numeric`,
          [Math.min(behind_bytes_max, Number.MAX_SAFE_INTEGER)],
        )
        return rowCount ?? 0
      } finally {
        await client.end().catch(() => undefined)
      }
    },
  }
}

function childrenOf(parent: number | undefined): number[] {
  if (parent === undefined) return []
  return textOrNothing(`/proc/${parent}/task/${parent}/children`)
    .split(' ')
    .filter((word) => word !== '')
    .map(Number)
}
