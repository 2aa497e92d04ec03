// PgBouncer as this host has it, found and asked for its version at each use: an administrator who installs or replaces it need not
// start the server anew. Debian 12 has 1.18; newer ones keep two promises more.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { findProgram, system_env } from '../../host/program.ts'

export type PoolerProgram = { path: string; version: string }

const version_timeout_ms = 10_000

export const hasPgBouncer = async (): Promise<boolean> => (await findPath()) !== undefined

/** Undefined when there is none. A program that does not tell its version counts as a very old one. */
export async function findPgBouncer(): Promise<PoolerProgram | undefined> {
  const path = await findPath()
  if (path === undefined) return undefined
  const options = { env: system_env, timeout: version_timeout_ms }
  const said = await promisify(execFile)(path, ['--version'], options).catch(() => undefined)
  return { path, version: /^PgBouncer (\d+\.\d+)/.exec(said?.stdout ?? '')?.[1] ?? '0.0' }
}

const findPath = () => findProgram('pgbouncer')
