// The server of a drill: it recovers to the end at the lowest priority, and listens nowhere but on its own socket.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { spawnDaemon } from '../../host/daemon.ts'
import { endsWithin, signalPostmaster } from '../../host/postmaster.ts'
import { ownUserName } from '../../host/user-name.ts'
import { noSpaceError } from '../host/disk-space.ts'
import { ensureFile, ensureRemoved } from '../host/effect.ts'
import type { Node } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { floorOf } from '../postgres/control-file.ts'
import { majorOf } from '../postgres/data-directory.ts'
import type { PostgresInstallation } from '../postgres/installation.ts'
import { findPostmaster } from '../postgres/process.ts'
import { identOf } from '../postgres/settings.ts'
import { fatalOfOutput } from '../postgres/start-log.ts'

export type DrillHost = Machine & { installations: readonly PostgresInstallation[] }

/** A large database replays for hours at this priority. */
const recovery_ms_max = 6 * 3_600_000
const poll_ms = 50
const stop_ms_max = 10_000

/** A sentence: why it could not recover. */
export async function startDrill({ effect, installations }: DrillHost, node: Node): Promise<string | undefined> {
  const major = await majorOf(node)
  const installation = installations.find((one) => one.major === major)
  if (installation === undefined) return `PostgreSQL ${major} is not installed`
  const settings = {
    listen_addresses: '',
    port: node.port,
    unix_socket_directories: `"${node.sockets}"`,
    unix_socket_permissions: '0700',
    hba_file: node.hba,
    ident_file: node.ident,
    ...(await floorOf(node.data)),
    shared_buffers: '32MB',
    autovacuum: 'off',
    fsync: 'off',
    full_page_writes: 'off',
    restart_after_crash: 'off',
    log_timezone: 'UTC',
  }
  const text = Object.entries(settings)
    .map(([name, value]) => `${name} = '${String(value).replaceAll("'", "''")}'\n`)
    .join('')
  await ensureFile(effect, 'settings', node.settings, text, node.owner)
  await ensureFile(effect, 'client rules', node.hba, 'local all postgres peer map=howdah\n', node.owner)
  await ensureFile(effect, 'user map', node.ident, identOf(ownUserName()), node.owner)
  await ensureRemoved(effect, 'start log', node.start_log)
  const words = [join(installation.bin, 'postgres'), '-D', node.data, '-c', `config_file=${node.settings}`]
  const child = await spawnDaemon(
    { command: ['nice', '-n', '19', ...words], ...node.owner },
    { path: node.start_log, flags: 'wx' },
  )
  child.once('error', () => undefined)
  child.unref()
  for (const deadline = performance.now() + recovery_ms_max; performance.now() < deadline; await pause(poll_ms)) {
    if ((await findPostmaster(node)).postmaster?.ready) return undefined
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) {
      const fatal = fatalOfOutput(logOf(node)) ?? 'it was killed'
      if (fatal.includes('No space left on device')) throw noSpaceError(node.home)
      return `PostgreSQL could not recover: ${fatal}`
    }
  }
  return 'the recovery has not ended in time'
}

export const logOf = ({ start_log }: Node): string => readFileSync(start_log, 'utf8')

export async function killDrill(node: Node): Promise<void> {
  const { postmaster } = await findPostmaster(node).catch(() => ({ postmaster: undefined }))
  if (postmaster === undefined) return
  await signalPostmaster(node, postmaster.pid, 'SIGQUIT')
  await endsWithin(node, postmaster.pid, stop_ms_max)
}
