// The floor of the fork bench: what a skilled person would type. The backup mode of the parent, `cp --reflink=auto`, the
// WAL, the label, and PostgreSQL started on the copy, polled by its pid file; no Howdah anywhere, the same binaries.
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ask, login, type Parent } from './fork-parent.ts'
import { withCleanup } from './cleanup.ts'
import { timed } from './figures.ts'
import { bin } from './plain-postgres.ts'

const execute = promisify(execFile)
const poll_every_ms = 2

/** Milliseconds of a fork of this moment, made by hand. */
export async function floorFork(parent: Parent, folder: string): Promise<number> {
  return await withCopy(parent, folder, async (copy) => {
    const client = await login(parent)
    try {
      return await timed(async () => {
        await client.query(`select pg_create_physical_replication_slot('floor', true, true)`)
        await client.query(`select pg_backup_start('floor', true)`)
        await execute('cp', ['-a', '--reflink=auto', join(parent.home, 'data'), copy.data])
        const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
        // Where the archive stands is noted there too, by files that come and go.
        await execute('sh', ['-c', `cp -a --reflink=auto ${join(parent.home, 'data', 'pg_wal')} ${copy.data} || true`])
        await execute('sh', ['-c', `rm -rf ${copy.data}/postmaster.* ${copy.data}/pg_replslot/*`])
        writeOwned(copy, 'backup_label', rows[0]?.labelfile ?? '')
        writeOwned(copy, 'postgresql.auto.conf', '')
        await start(copy)
      })
    } finally {
      await client.end()
    }
  })
}

/** Milliseconds of a replay from a snapshot to a moment, made by hand as the manual says. */
export async function floorReplay(parent: Parent, folder: string, snapshot_id: string, target: string) {
  return await withCopy(parent, folder, (copy) =>
    timed(async () => {
      await execute('cp', ['-a', '--reflink=auto', join(parent.home, 'snapshots', snapshot_id, 'data'), copy.data])
      await execute('chown', ['-R', `${copy.uid}:${copy.gid}`, copy.data])
      writeOwned(copy, 'recovery.signal', '')
      const restore = `restore_command = 'cp ${parent.home}/archive/%f "%p"'`
      const settings = [restore, `recovery_target_time = '${target}'`, `recovery_target_action = 'promote'`]
      writeOwned(copy, 'postgresql.auto.conf', [...settings, 'hot_standby = off', ''].join('\n'))
      await start(copy)
    }),
  )
}

type Copy = { folder: string; data: string; uid: number; gid: number; port: number; server?: ChildProcess }

async function withCopy<T>(parent: Parent, folder: string, work: (copy: Copy) => Promise<T>): Promise<T> {
  const { uid, gid } = statSync(join(parent.home, 'data'))
  const copy: Copy = { folder: join(folder, 'floor'), data: join(folder, 'floor', 'data'), uid, gid, port: parent.port }
  mkdirSync(copy.folder, { mode: 0o700 })
  chownSync(copy.folder, uid, gid)
  const undo = () => {
    copy.server?.kill('SIGQUIT')
    rmSync(copy.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }
  return await withCleanup(undo, async () => {
    const result = await work(copy)
    if (copy.server) {
      copy.server.kill('SIGQUIT')
      await once(copy.server, 'exit')
    }
    return result
  })
}

function writeOwned({ data, uid, gid }: Copy, name: string, text: string): void {
  writeFileSync(join(data, name), text, { mode: 0o600 })
  chownSync(join(data, name), uid, gid)
}

/** Returns when a query was answered. */
async function start(copy: Copy): Promise<void> {
  writeFileSync(join(copy.folder, 'hba'), 'local all all trust\n', { mode: 0o644 })
  const settings = {
    hba_file: join(copy.folder, 'hba'),
    unix_socket_directories: copy.folder,
    listen_addresses: '',
    port: String(copy.port),
    recovery_init_sync_method: 'syncfs',
  }
  const words = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  copy.server = spawn(join(bin, 'postgres'), ['-D', copy.data, ...words], {
    ...(process.getuid?.() === 0 && { uid: copy.uid, gid: copy.gid }),
    env: {},
    stdio: 'ignore',
  })
  const ready = () => readFileSync(join(copy.data, 'postmaster.pid'), 'utf8').split('\n')[7]?.trim() === 'ready'
  while (!unlessMissing(ready)) {
    if (copy.server.exitCode !== null) throw new Error('the server of the floor did not start')
    await pause(poll_every_ms)
  }
  await ask({ service_id: '', home: '', sockets: copy.folder, port: copy.port }, 'select 1')
}

function unlessMissing(read: () => boolean): boolean {
  try {
    return read()
  } catch {
    return false
  }
}
