// The door to the metadata store: queries, transactions and wake-ups. One statement a function lives in the store.ts
// files; this file knows no table. int8 arrives as a number: none of ours comes near 2^53.
import pg from 'pg'
import { Fault } from '#contract/fault.ts'
import { errorCode } from '#providers/host/read.ts'
import type { Statement } from './sql.ts'

/** Where a statement can run: the pool, or the transaction that a function was handed. */
export type Sql = {
  /** name: kept prepared under it on every connection. For statements of most requests or passes; columns must be named, not `*`. */
  query<Row extends object>(statement: Statement<Row>, name?: string): Promise<NoInfer<Row>[]>
  /** Text that is not written in this server's code: migrations. */
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>
}

export type Db = Sql & {
  /**
   * Runs the work in one transaction; a throw rolls back. Where it has to give way in a deadlock, it is run anew. patience_ms: how long a
   * statement of it may take, and how long it may do something else between two, where that is longer than a request can wait.
   */
  transaction<T>(work: (tx: Sql) => Promise<T>, longer?: { patience_ms: number }): Promise<T>
  /** Calls back for every notification on the channel, and once whenever notifications may have been missed. */
  listen(channel: string, onNotice: (payload: string | undefined) => void): void
  close(): Promise<void>
}

const connections_max = 10
const connect_ms_max = 5_000
const listen_retry_ms = 500

type Bounds = {
  /** The store ends a statement that takes longer. */
  statement_ms: number
  /** How much later an answer may come before the connection is taken for dead: then the store, or the way to it, is. */
  answer_ms: number
  /** The store ends a transaction that does nothing for longer: a server that was paused, or lost its power, would keep its locks. */
  idle_ms: number
}

/** idle_ms is less than statement_ms, so that a server that waits for the locks of a paused one gets them. */
const server_bounds: Bounds = { statement_ms: 15_000, answer_ms: 5_000, idle_ms: 10_000 }

/** Within half a minute either side knows that the other one is dead, also when nothing is to be said. Linux has the client's own pauses. */
const keepalive_ms = 10_000
const keepalives =
  '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c tcp_user_timeout=30s'

const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)),
}

export function openDb(url: string, bounds = server_bounds): Db {
  const options = {
    connectionString: url,
    types,
    application_name: 'howdah',
    keepAlive: true,
    keepAliveInitialDelayMillis: keepalive_ms,
    connectionTimeoutMillis: connect_ms_max,
    statement_timeout: bounds.statement_ms,
    query_timeout: bounds.statement_ms + bounds.answer_ms,
    options: keepalives,
  }
  const pool = new pg.Pool({
    ...options,
    // Ours are look-ups by key: planning them anew for each value costs more than it can gain, in a big store above all.
    options: `${keepalives} -c plan_cache_mode=force_generic_plan`,
    max: connections_max,
    idle_in_transaction_session_timeout: bounds.idle_ms,
  })
  // An idle connection that breaks is dropped by the pool; the next query opens another one.
  pool.on('error', () => undefined)
  // A connection may break at any moment, also before its first query: the event alone must not end the process.
  pool.on('connect', (client) => client.on('error', () => undefined))
  const listeners: Listener[] = []
  return {
    ...queriesOn(pool),
    transaction: (work, longer) =>
      despiteDeadlocks(() => inTransaction(pool, work, longer && { ...longer, answer_ms: bounds.answer_ms })),
    listen: (channel, onNotice) => {
      listeners.push(newListener(options, channel, onNotice))
    },
    close: async () => {
      await Promise.all(listeners.map((listener) => listener.close()))
      await pool.end()
    },
  }
}

/** True for errors after which a caller may simply repeat: the store is unreachable, starting, too slow, too busy, or was restarted meanwhile. */
export function storeIsUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = errorCode(error) ?? ''
  // Classes 08 and 57P0: the connection or the server went; 53: it lacks resources; 25006: it is a standby just now; 57014 and 25P03: a
  // statement, or this server between two of them, took too long; 40P01: the transaction gave way in each of many deadlocks.
  if (/^(08|57P0|57014|53|25006|25P03|40P01)/.test(code)) return true
  if (/^(ECONNREFUSED|ECONNRESET|ENOENT|EPIPE|ETIMEDOUT)$/.test(code)) return true
  const last_words =
    /Connection terminated|timeout exceeded when trying to connect|not queryable|Client has encountered/
  return last_words.test(error.message) || isSilence(error)
}

/** The connection has a question without an answer from then on. */
const isSilence = (error: unknown) => error instanceof Error && error.message === 'Query read timeout'

const deadlocks_max = 10

/** A statement or transaction that meets others half-way: PostgreSQL aborts one, which has changed nothing and is tried again. */
export async function despiteDeadlocks<T>(work: () => Promise<T>): Promise<T> {
  for (let met = 1; ; met += 1) {
    try {
      return await work()
    } catch (error) {
      if (errorCode(error) !== '40P01' || met === deadlocks_max) throw error
    }
  }
}

/** True when a statement names, or would remove, what another row depends on. */
export function isForeignKeyViolation(error: unknown): error is Error & { constraint?: string } {
  return errorCode(error) === '23503'
}

export const unavailable = (): Fault =>
  new Fault('UNAVAILABLE', 'the metadata store cannot be reached right now; repeat the request in a moment', {
    retry_after_seconds: 1,
  })

/** query_timeout: absent, that of the connection. */
function queriesOn(on: pg.Pool | pg.PoolClient, query_timeout?: number): Sql {
  return {
    query: async <Row extends object>(statement: Statement<Row> | string, more?: string | readonly unknown[]) => {
      const { text, values } = typeof statement === 'string' ? { text: statement, values: [] } : statement
      const named =
        typeof more === 'string' ? { text, values, name: more } : { text, values: more ? [...more] : values }
      // Of pg's own types, only those of a connection know it.
      const bounded = { ...named, query_timeout }
      const { rows } = await on.query<Row>(bounded)
      return rows
    },
  }
}

type Longer = { patience_ms: number; answer_ms: number }

async function inTransaction<T>(pool: pg.Pool, work: (tx: Sql) => Promise<T>, longer?: Longer): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  const onError = (error: Error) => {
    broken = error
  }
  client.on('error', onError)
  try {
    await client.query('begin')
    for (const bound of longer ? ['statement_timeout', 'idle_in_transaction_session_timeout'] : []) {
      await client.query(`set local ${bound} = ${longer?.patience_ms}`)
    }
    const result = await work(queriesOn(client, longer && longer.patience_ms + longer.answer_ms))
    await client.query('commit')
    return result
  } catch (error) {
    // Without an answer to the last question there is none to this one: the connection is closed, which rolls back, too.
    if (error instanceof Error && isSilence(error)) broken = error
    else {
      await client.query('rollback').catch((failure: Error) => {
        broken = failure
      })
    }
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}

type Listener = { close(): Promise<void> }

function newListener(options: pg.ClientConfig, channel: string, onNotice: (payload: string | undefined) => void) {
  let closed = false
  let client: pg.Client | undefined
  let retry: NodeJS.Timeout | undefined
  const again = () => {
    if (closed || retry !== undefined) return
    retry = setTimeout(() => {
      retry = undefined
      void connect()
    }, listen_retry_ms)
  }
  const connect = async () => {
    const next = new pg.Client(options)
    next.on('error', () => undefined)
    next.on('end', again)
    next.on('notification', (notice) => onNotice(notice.payload))
    client = next
    try {
      await next.connect()
      await next.query(`listen ${channel}`)
      onNotice(undefined)
    } catch {
      await next.end().catch(() => undefined)
      again()
    }
  }
  void connect()
  const listener: Listener = {
    close: async () => {
      closed = true
      clearTimeout(retry)
      await client?.end().catch(() => undefined)
    },
  }
  return listener
}
