// The service that the fork bench forks: filled with pgbench-like data, written to on demand, and reached by the
// superuser's socket, which is how the floor reaches it too.
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { Bench } from './howdah.ts'

export type Parent = { service_id: string; home: string; sockets: string; port: number }

/** A row with its index entry takes about so much: few and wide, because it is the files that are copied. */
const row_bytes = 1_050
const writers = 4
const poll_ms = 20

export async function newParent(bench: Bench, gb: number): Promise<Parent> {
  const made = await bench.createService(`bench-${gb}`, { cpu_millis: 'shared', memory_gbs: 'shared' })
  await bench.waitFor(made.service_id, 'READY')
  const local = join(bench.data_dir, 'local')
  const parent: Parent = {
    service_id: made.service_id,
    home: join(local, 'services', made.service_id),
    sockets: join(local, 'run', made.service_id),
    port: made.endpoint?.port ?? 0,
  }
  const rows = Math.round((gb * 1e9) / row_bytes)
  await fill(parent, rows)
  await untilNoCopies(bench, parent)
  return parent
}

/** Frozen as it is written, so that nothing rewrites it later. */
async function fill(parent: Parent, rows: number): Promise<void> {
  const client = await login(parent)
  try {
    await client.query('begin')
    await client.query('create table accounts (id int not null, balance int not null, filler char(900) not null)')
    await client.query(`copy accounts from program 'seq -f "%.0f\t0\t" 1 ${rows}' with (freeze)`)
    await client.query('commit')
    await client.query('alter table accounts add primary key (id)')
    await client.query('analyze accounts')
    await client.query('checkpoint')
  } finally {
    await client.end()
  }
}

/** The first column of the first row. */
export async function ask(parent: Parent, sql: string): Promise<string> {
  const client = await login(parent)
  try {
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' })
    return String(rows[0]?.[0])
  } finally {
    await client.end()
  }
}

export async function login({ sockets, port }: Pick<Parent, 'sockets' | 'port'>): Promise<pg.Client> {
  const client = new pg.Client({ host: sockets, port, user: 'postgres', database: 'tsdb' })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

/** Single-row updates all over the table, as fast as they go, while the work runs. Returns commits a second too. */
export async function underWrites<T>(parent: Parent, work: () => Promise<T>): Promise<T> {
  const rows = Number(await ask(parent, 'select max(id) from accounts'))
  const stop = new AbortController()
  const one = async () => {
    const client = await login(parent)
    while (!stop.signal.aborted) {
      const id = 1 + Math.floor(Math.random() * rows)
      await client.query('update accounts set balance = balance + 1 where id = $1', [id])
    }
    await client.end()
  }
  const all = Promise.all(Array.from({ length: writers }, one))
  try {
    return await work()
  } finally {
    stop.abort()
    await all
  }
}

type Listed = { id: string; kind: string; status: string; taken?: string }

export async function listSnapshots(
  bench: Bench,
  parent: Pick<Parent, 'service_id'>,
  method = 'GET',
): Promise<Listed[]> {
  const url = `${bench.url}/projects/${bench.project_id}/services/${parent.service_id}/snapshots`
  const answer = await fetch(url, { method, headers: { authorization: `Bearer ${bench.token}` } })
  return [(await answer.json()) as Listed | Listed[]].flat() // the contract's own answers
}

export async function takeSnapshot(bench: Bench, parent: Parent): Promise<Listed> {
  const [asked] = await listSnapshots(bench, parent, 'POST')
  for (;;) {
    const found = (await listSnapshots(bench, parent)).find(({ id }) => id === asked?.id)
    if (found?.status === 'complete') return found
    await pause(poll_ms)
  }
}

/** Neither a snapshot being taken nor one being removed: nothing of ours disturbs what is measured next. */
export async function untilNoCopies(bench: Bench, parent: Pick<Parent, 'service_id'>): Promise<void> {
  const lasting = ({ status }: Listed) => status === 'complete'
  while (!(await listSnapshots(bench, parent)).every(lasting)) await pause(poll_ms)
}
