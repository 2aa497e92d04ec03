// The files that one PostgreSQL server reads: its settings, who may connect, and its certificate, which must exist.
// Returns hashes of them: a server that was started with other settings must be started anew, while the rest
// it can read again as it runs.
import { X509Certificate } from 'node:crypto'
import { hasArchiveModule } from './archive-settings.ts'
import { ensureFile, ensureOverwritten } from '../host/effect.ts'
import { readIfThere, statIfThere } from '../../host/read.ts'
import type { PostgresInstallation } from './installation.ts'
import type { Node } from '../host/layout.ts'
import { preloadsOf } from '../../postgres/preloads.ts'
import type { Hashes } from './process.ts'
import type { Access, PostgresHost } from './postgres-host.ts'
import { hashOf, hbaOf, identOf, settingsOf, shutHbaOf, type SettingsSpec } from './settings.ts'

/** Of every text about writes, so that one text can be written over another. */
const writes_chars = 128
/** For the module and for the command: finished WAL waits until there is an archive again. */
const no_archive = [`basic_archive.archive_directory = ''`, `archive_command = ''`]
const no_synchronous_standbys = `synchronous_standby_names = ''\n`

/** `extensions`: of the service. */
type Spec = Pick<SettingsSpec, 'size' | 'endpoint' | 'node' | 'following' | 'floor'> & {
  extensions: readonly string[]
}

type RulesHost = Pick<PostgresHost, 'effect' | 'accessOf'>
type FilesHost = RulesHost & Pick<PostgresHost, 'memory_mb' | 'log_rotation_mb' | 'quotaBytesOf' | 'control_plane_user'>

export async function ensureServerFiles(
  host: FilesHost,
  { major, bin, ...installation }: PostgresInstallation,
  { extensions, ...spec }: Spec,
): Promise<Hashes> {
  const { effect } = host
  const { node } = spec
  const settings = settingsOf({
    ...spec,
    major,
    preloads: preloadsOf(installation.extensions, extensions),
    of_installation: installation.settings,
    archive_module: await hasArchiveModule(bin),
    host_memory_mb: host.memory_mb,
    log_rotation_mb: host.log_rotation_mb,
    disk_quota_bytes: host.quotaBytesOf(spec.size),
  })
  await ensureFile(effect, 'settings', node.settings, settings, node.owner)
  await ensureClientRules(host, node)
  await ensureFile(effect, 'user map', node.ident, identOf(host.control_plane_user), node.owner)
  // Without it every server would log at every read of its files that it is missing.
  if (!(await statIfThere(node.synchronous))) {
    await ensureFile(effect, 'synchronous replicas', node.synchronous, no_synchronous_standbys, node.owner)
  }
  await ensureWritesSetting(host, node)
  return { settings_hash: hashOf([settings]), files_hash: await findFilesHash(node) }
}

export async function ensureClientRules(host: RulesHost, node: Node): Promise<void> {
  const hba = host.accessOf(node.service_id).logins ? hbaOf() : shutHbaOf()
  await ensureOverwritten(host.effect, 'client rules', node.hba, hba, node.owner)
}

/**
 * Whether there is disk space to write, as PostgreSQL reads it. With the time of the change, so that no two texts are the same: on a
 * full disk the marker that the server has read a text cannot be written.
 */
export async function ensureWritesSetting(host: RulesHost, node: Node): Promise<void> {
  const access = host.accessOf(node.service_id)
  const before = await readIfThere(node.writes)
  if (before !== undefined && access.writes === undefined) return
  const setting = writesText(access)
  if (before?.startsWith(setting)) return
  const text = `${setting}# since ${new Date().toISOString()}\n`
  await ensureOverwritten(host.effect, 'writes', node.writes, text, node.owner)
}

function writesText({ writes = true, temp_file_limit, archives = true }: Access): string {
  const lines = [`default_transaction_read_only = ${writes ? 'off' : 'on'}`]
  if (temp_file_limit !== undefined) lines.push(`temp_file_limit = ${temp_file_limit}`)
  if (!archives) lines.push(...no_archive)
  return `${lines.join('\n').padEnd(writes_chars)}\n`
}

/** Of the files as they are now. */
export async function findFilesHash(node: Node): Promise<string> {
  const [hba = '', ident = '', pem = '', synchronous = '', writes = ''] = await Promise.all(
    [node.hba, node.ident, node.certificate, node.synchronous, node.writes].map(readIfThere),
  )
  // Comments in the file change nothing.
  const lines = synchronous.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return hashOf([hba, ident, new X509Certificate(pem).fingerprint256, writes, ...lines])
}
