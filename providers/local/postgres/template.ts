// The data directory that every new service is a copy of: one for each PostgreSQL version, built once.
// 1. It is built aside under a name that carries the builder's process, and renamed into place whole and durable: two
//    builders at once, or a killed one, leave exactly one template and, after the next pass, nothing else.
// 2. It is built without a listening server: single-user PostgreSQL exits with the process that feeds it.
import { spawn } from 'node:child_process'
import { chown, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { makeWhole, newAside, removeUnfinished } from '../host/aside.ts'
import { listNames, removeEntry } from '../host/tenant-files.ts'
import { syncTree } from '../host/tree.ts'
import { ensureFolder, ensureRemoved, type Effect } from '../host/effect.ts'
import { errorCode, statIfThere } from '../../host/read.ts'
import { lookup_sql } from '../../postgres/pooler-lookup.ts'
import type { PostgresInstallation } from './installation.ts'
import { unprivileged } from '../../host/user-map.ts'
import { foldersOf } from '../host/layout.ts'
import { readOnlySessionSql, roleSettingSql } from '../../postgres/read-only-session.ts'
import { reserved_roles, roleSql } from './reserved-roles.ts'
import { master_database, master_rights, master_role, pooler_role } from '../../postgres/names.ts'

/** Raised when the contents of the template change, so that new services get them. */
const template_format = 5
/**
 * Half of PostgreSQL's own. Every snapshot and every fork leaves files early and begins new ones: of a small database those
 * are most of what a fork takes. Still smaller ones are more to archive, each with flushes of its own.
 */
export const wal_segment_mb = 8
const build_timeout_ms = 120_000
const output_chars_max = 2_000

export async function ensureTemplate(
  effect: Effect,
  directory: string,
  installation: PostgresInstallation,
  as_root: boolean,
): Promise<string> {
  const { templates } = foldersOf(directory)
  const template = join(templates, nameOf(installation))
  if (await statIfThere(template)) return template
  await removeUnfinished(effect, templates)
  await makeWhole(effect, 'template', template, (aside) => build(effect, aside, installation, as_root))
  return template
}

const nameOf = ({ version }: PostgresInstallation) => `${version}-${template_format}`

/** Those of an earlier format or of a removed PostgreSQL, with their spares, and the unfinished ones of dead processes. */
export async function removeOldTemplates(
  effect: Effect,
  directory: string,
  installations: readonly PostgresInstallation[],
): Promise<void> {
  const { templates } = foldersOf(directory)
  const in_use = installations.map(nameOf)
  await removeUnfinished(effect, templates)
  for (const name of await readdir(templates)) {
    if (name.includes('.making-') || in_use.includes(name.replace(/\.spare(-\d)?$/, ''))) continue
    // By one rename, so that no create takes half of it for a whole.
    const aside = newAside(join(templates, name))
    await effect('old template: rename away')
    await rename(join(templates, name), aside).catch((error: unknown) => {
      // Another server was faster.
      if (errorCode(error) !== 'ENOENT') throw error
    })
    await ensureRemoved(effect, 'old template', aside)
  }
}

async function build(effect: Effect, aside: string, installation: PostgresInstallation, as_root: boolean) {
  const { major } = installation
  const run = (program: string, args: readonly string[], input = '') =>
    runToEnd(join(installation.bin, program), args, input, as_root)
  await ensureFolder(effect, 'template', aside, 0o700, as_root ? unprivileged : undefined)
  await effect('template: initdb')
  await run('initdb', ['-D', aside, ...initdbOptions(major)])
  const settings = ['-c', 'exit_on_error=on', '-c', 'fsync=off', '-c', 'min_wal_size=32MB', '-c', memory_in_data]
  const single = ['--single', '-D', aside, ...settings]
  await effect('template: roles')
  await run('postgres', [...single, 'postgres'], rolesSql(major))
  // Copied into every database that is made after it.
  await effect('template: functions')
  await run('postgres', [...single, 'template1'], linesOf([lookup_sql, ...readOnlySessionSql(major)]))
  // A tenant may make a database from this one too.
  await run('postgres', [...single, 'template0'], linesOf(readOnlySessionSql(major)))
  await effect('template: databases')
  await run('postgres', [...single, 'postgres'], databasesSql)
  await effect('template: master database')
  await run('postgres', [...single, master_database], databaseSql)
  // From here on only we can enter it; copies are handed to their own users.
  if (as_root) await chown(aside, 0, 0)
  await effect('template: remove spare WAL')
  await removeSpareWal(aside)
  // Statistics of the build would make autovacuum work through every fresh copy.
  await effect('template: forget activity')
  await removeEntry(aside, 'pg_stat/pgstat.stat')
  await effect('template: make durable')
  await syncTree(aside)
}

/** All but the file in use, which is the first: those after it are empty, and every copy would have to carry them. */
async function removeSpareWal(aside: string): Promise<void> {
  const files = (await listNames(aside, 'pg_wal')).filter((name) => /^[0-9A-F]{24}$/.test(name))
  for (const name of files.toSorted().slice(1)) await removeEntry(aside, `pg_wal/${name}`)
}

/** What a killed program leaves of it goes with the folder. */
const memory_in_data = 'dynamic_shared_memory_type=mmap'

function initdbOptions(major: number): string[] {
  const provider = major >= 17 ? '--locale-provider=builtin ' : ''
  const locale = `--encoding=UTF8 ${provider}--locale=C.UTF-8`
  const wal = `--wal-segsize=${wal_segment_mb}`
  const access = '--username=postgres --auth-local=peer --auth-host=reject'
  return `${access} ${locale} ${wal} --data-checksums --no-sync --no-instructions -c ${memory_in_data}`.split(' ')
}

/** One statement a line: single-user PostgreSQL reads them so. */
const linesOf = (statements: readonly string[]) => statements.map((statement) => `${statement}\n`).join('')

function rolesSql(major: number): string {
  return linesOf([
    ...reserved_roles.flatMap((role) => roleSql(role, major)),
    // Its first login is allowed when everything that it is to find has been made: see master-role.ts.
    `create role ${master_role} nologin createrole createdb`,
    `grant ${master_rights.join(', ')} to ${master_role} with admin option`,
    ...roleSettingSql(major),
  ])
}

const databasesSql = linesOf([
  `create database ${master_database} owner ${master_role}`,
  `grant connect on database ${master_database} to ${pooler_role}`,
  // The control plane's sessions are in postgres, and every new database is a copy of one of the others.
  'revoke all on database postgres, template0, template1 from public',
])

/** A server that starts late in a WAL file makes the next one first, and the create would wait for it. */
const databaseSql = `alter schema public owner to ${master_role}\nvacuum (freeze, analyze)\nselect pg_switch_wal()\n`

/** Runs a program of PostgreSQL, unprivileged where the server is root, and throws with the end of its output unless it succeeds. */
function runToEnd(program: string, args: readonly string[], input: string, as_root: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args], {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: build_timeout_ms,
      ...(as_root ? unprivileged : {}),
    })
    let output = ''
    const collect = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-output_chars_max)
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) return resolve()
      const error = new Error(`${program} failed: ${output.trim()}`)
      reject(/No space left on device/.test(output) ? Object.assign(error, { code: 'ENOSPC' }) : error)
    })
    // A program that exits early breaks the pipe; its exit code says why.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
  })
}

/** One build at a time for each version in this process; a failed build is repeated by the next caller. */
export function onceEach<Built>(
  build: (installation: PostgresInstallation) => Promise<Built>,
): (installation: PostgresInstallation) => Promise<Built> {
  const under_way = new Map<string, Promise<Built>>()
  return (installation) => {
    const { version } = installation
    const one = under_way.get(version) ?? build(installation).finally(() => under_way.delete(version))
    under_way.set(version, one)
    return one
  }
}
