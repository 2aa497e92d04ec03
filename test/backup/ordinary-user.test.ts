// A server of an ordinary user makes backups and comes back from them: it may give files to no other user, and needs to.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { execFileSync } from 'node:child_process'
import { afterAll, expect, test } from 'vitest'
import { ask } from '#test/database.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { howdah } from '#test/e2e/howdah.ts'
import { newServicePorts } from '#test/ports.ts'
import { as_ordinary_user, unprivileged } from '#test/privileges.ts'
import { newDataDirOfUser } from '#test/seed.ts'
import { type ServerProcess, startServerProcess } from '#test/server-process.ts'
import { until } from '#test/until.ts'
import { has_restic, untilCopied } from './copied.ts'

const is_root = process.getuid?.() === 0
const lacks = !has_restic ? 'restic is not installed' : is_root ? '' : 'only root can become another user'
const why = lacks && ` (skipped: ${lacks})`
const service_ports = newServicePorts()
const folders: string[] = []
let server: ServerProcess | undefined

afterAll(async () => {
  await server?.end()
  for (const folder of folders) await removeDataDir(folder)
})

/** With a mode of 0700, as homes have it. */
function newFolderOfUser(): string {
  const folder = newDataDir()
  folders.push(folder)
  execFileSync('chown', [`${unprivileged}:${unprivileged}`, folder])
  return folder
}

test.skipIf(why)(`an ordinary user’s installation comes back, with that user’s files${why}`, async () => {
  const lost = await newDataDirOfUser()
  folders.push(lost)
  const target = `file://${newFolderOfUser()}/repository`
  const flags = ['--backup-to', target, '--backup-lag', '10']
  const start = async (data_dir: string) =>
    (server = await startServerProcess({ data_dir, service_ports, flags, prefix: as_ordinary_user }))
  const first = await start(lost)
  const { first_token: token = '', project_id, api_url } = first
  const init = ['admin', 'backup', 'init', '--backup-to', target, '--data-dir', lost]
  const initiated = await howdah(init, {}, as_ordinary_user)
  expect(initiated).toMatchObject({ code: 0 })
  const [recovery_key] = /[A-Z2-7]{4}(-[A-Z2-7]{4}){12}/.exec(initiated.stdout) ?? []
  const [call, services] = [first.callWith(token), `/projects/${project_id}/services`]
  const made = (await call('POST', services, { name: 'shop', cpu_millis: 'shared' })).body
  const at = `${services}/${made.service_id}`
  await until(async () => (await call('GET', at)).body.status === 'READY')
  await ask(api_url, made, made.initial_password ?? '', 'create table orders as select generate_series(1, 300) as n')
  await untilCopied(call, at)
  await server?.end('SIGKILL')
  await removeDataDir(lost)

  const found = newFolderOfUser()
  const ports = ['--service-ports', `${service_ports.first}-${service_ports.last}`]
  const restore = ['admin', 'restore', '--from', target, '--data-dir', found, ...ports]
  const restored = await howdah(restore, { HOWDAH_RECOVERY_KEY: recovery_key }, as_ordinary_user)
  expect(restored).toMatchObject({ code: 0, stderr: '' })
  expect(statSync(join(found, 'local', 'services', made.service_id, 'data')).uid).toBe(unprivileged)
  const successor = await start(found)
  const again = successor.callWith(token)
  await until(async () => (await again('GET', at)).body.status === 'READY')
  const count = ask(successor.api_url, made, made.initial_password ?? '', 'select count(*) from orders')
  expect(await count).toEqual(['300'])
})
