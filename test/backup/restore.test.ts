// The machine is lost: a server that made backups is killed, its data directory is removed, and another one is filled from the
// repository alone. Real restic, real PostgreSQL; the repository is a folder.
import { spawnSync } from 'node:child_process'
import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseBackupTarget } from '#server/backup-target.ts'
import { initRepository } from '#server/backup/repository.ts'
import { openInstallation } from '#server/installation.ts'
import type { Call, ServiceOrFault } from '#test/call.ts'
import { ask } from '#test/database.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { howdah } from '#test/e2e/howdah.ts'
import { newServicePorts } from '#test/ports.ts'
import { newSeededDataDir } from '#test/seed.ts'
import { type ServerProcess, startServerProcess } from '#test/server-process.ts'
import { until } from '#test/until.ts'

const has_restic = spawnSync('restic', ['version']).error === undefined
const why = has_restic ? '' : ' (skipped: restic is not installed)'
const nowhere = newDataDir()
const [target, service_ports] = [`file://${nowhere}/repository`, newServicePorts()]
const folders = [nowhere]
let server: ServerProcess | undefined
let token = ''
let recovery_key = ''
let lost = ''

async function start(data_dir: string): Promise<ServerProcess> {
  // A third of it is the pause between two rounds.
  server = await startServerProcess({ data_dir, service_ports, flags: ['--backup-to', target, '--backup-lag', '20'] })
  return server
}

const settings = (data_dir: string) => [
  '--data-dir',
  data_dir,
  '--service-ports',
  `${service_ports.first}-${service_ports.last}`,
]

beforeAll(async () => {
  if (!has_restic) return
  lost = await newSeededDataDir()
  folders.push(lost)
  token = (await start(lost)).first_token ?? ''
})

afterAll(async () => {
  await server?.end()
  for (const folder of folders) await removeDataDir(folder)
})

test.skipIf(why)(`no repository is made by itself, and the recovery key is shown once${why}`, async () => {
  const status = () => howdah(['admin', 'backup', 'status', '--data-dir', lost])
  expect((await status()).stderr).toContain('has no repository; make one with howdah admin backup init')
  const init = () => howdah(['admin', 'backup', 'init', '--backup-to', target, '--data-dir', lost])
  const made = await init()
  recovery_key = /^ {2}([A-Z2-7]{4}(?:-[A-Z2-7]{4}){12})$/m.exec(made.stdout)?.[1] ?? ''
  expect(recovery_key).not.toBe('')
  expect(await init()).toMatchObject({ code: 1, stderr: expect.stringContaining('has a repository already') })
})

test.skipIf(why)(`a second installation at the same place is refused${why}`, async () => {
  const other = newDataDir()
  folders.push(other)
  const { installation_id, data_dir } = await openInstallation(other)
  const secrets = { aws_access_key_id: undefined, aws_secret_access_key: undefined }
  const place = { installation_id, data_dir, secrets, target: parseBackupTarget(target) ?? expect.fail() }
  await expect(initRepository(place)).rejects.toThrow('the repository of another installation')
})

test.skipIf(why)(
  `a lost machine comes back from the repository with ids, endpoints, passwords, tokens and every row that was copied${why}`,
  { timeout: 900_000 },
  async () => {
    const before = await running()
    const { api_url, call, services } = before
    const made = (await call('POST', services, { name: 'shop', cpu_millis: 'shared' })).body
    const at = `${services}/${made.service_id}`
    await until(async () => (await call('GET', at)).body.status === 'READY', { what: 'the service is READY' })
    const sql = (text: string) => ask(api_url, made, made.initial_password ?? '', text)
    await sql('create table orders as select n from generate_series(1, 1000) n')
    await untilCopied(call, at)
    const fork = (await call('POST', `${at}/forkService`, { fork_strategy: 'NOW', name: 'copy' })).body
    await until(async () => (await call('GET', `${services}/${fork.service_id}`)).body.status === 'READY')
    await untilCopied(call, `${services}/${fork.service_id}`)
    // Neither fills a WAL file: only its written part can be copied.
    await sql('insert into orders select n from generate_series(1001, 1100) n')
    await untilCopied(call, at)
    await server?.end('SIGKILL')
    await removeDataDir(lost)

    const found = newDataDir()
    folders.push(found)
    const env = { HOWDAH_RECOVERY_KEY: recovery_key }
    const words = ['admin', 'restore', '--from', target]
    expect((await howdah([...words, '--list'], env)).stdout).toMatch(new RegExp(`^${made.service_id} +shop +20`, 'm'))
    // Killed at some moment, it goes on where it was.
    await howdah([...words, ...settings(found)], env, ['timeout', '-s', 'KILL', '2'])
    const restored = await howdah([...words, ...settings(found)], env)
    expect(restored).toMatchObject({ code: 0, stdout: expect.stringContaining('Restored into') })

    const successor = await start(found)
    const new_url = successor.api_url
    const again = successor.callWith(token)
    const ready = await until(async () => {
      const { body } = await again('GET', at)
      return body.status === 'READY' && body
    })
    expect(ready).toMatchObject({ service_id: made.service_id, endpoint: made.endpoint, name: 'shop' })
    const count = () => ask(new_url, made, made.initial_password ?? '', 'select count(*) from orders')
    expect(await count()).toEqual(['1100'])
    const copy = await until(async () => {
      const { body } = await again('GET', `${services}/${fork.service_id}`)
      return body.status === 'READY' && body
    })
    expect(copy.forked_from).toMatchObject({ service_id: made.service_id })
    expect(await ask(new_url, fork, fork.initial_password ?? '', 'select count(*) from orders')).toEqual(['1000'])
    // It goes on making backups.
    await untilCopied(again, at)
  },
)

test.skipIf(why)(`a repository that is away is told of, and not made anew${why}`, { timeout: 600_000 }, async () => {
  const { call, services } = await running()
  const [service] = (await call<ServiceOrFault[]>('GET', services)).body
  const at = `${services}/${service?.service_id}`
  // A backup that is late already, as on a busy machine, is not told of a second time.
  const behind = async () => (await call('GET', at)).body.protection?.backup_lag_seconds ?? Infinity
  await until(async () => (await behind()) < 10, { what: 'its backup is in time', timeout_ms: 180_000 })
  renameSync(join(nowhere, 'repository'), join(nowhere, 'unmounted'))
  mkdirSync(join(nowhere, 'repository'))
  const told = async () => {
    const events = (await call<{ message: string }[]>('GET', `${at}/events?kinds=backup`)).body
    return events[0]?.message
  }
  const away = /its backup is \d+ s behind: there is no repository in .*; check that its disk is mounted/
  await until(async () => away.test((await told()) ?? ''), {
    what: 'it is told that the repository is away',
    timeout_ms: 180_000,
  })
  renameSync(join(nowhere, 'unmounted'), join(nowhere, 'repository'))
  await until(async () => (await told()) === 'its backup is in time again')
})

/** The server that runs, with a caller. */
async function running() {
  const own = server ?? expect.fail()
  return { api_url: own.api_url, call: own.callWith(token), services: `/projects/${own.project_id}/services` }
}

/** Until everything that was committed before the call is in the repository, and a snapshot. */
async function untilCopied(call: Call, at: string): Promise<void> {
  const begun = Date.now()
  await until(
    async () => {
      const { protection } = (await call('GET', at)).body
      const lag_ms = (protection?.backup_lag_seconds ?? Infinity) * 1000 + 500
      return protection?.last_backup_at !== undefined && Date.now() - lag_ms > begun
    },
    { what: `${at} is copied`, timeout_ms: 300_000 },
  )
}
