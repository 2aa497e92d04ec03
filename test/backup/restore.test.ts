// The machine is lost: a server that made backups ends, its data directory is removed, and another one is filled from the repository
// alone. Real restic, real PostgreSQL; the repository is a folder.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { backupFilesOf } from '#server/backup/backup-files.ts'
import { restoreInstallation } from '#server/backup/restore.ts'
import { parseBackupTarget } from '#server/backup-target.ts'
import { newLog } from '#server/log.ts'
import { startServer } from '#server/main.ts'
import { type Call, newCall, type ServiceOrFault } from '#test/call.ts'
import { ask, type Database } from '#test/database.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { howdah, type Started, startHowdah } from '#test/e2e/howdah.ts'
import { newTestConfig, type ReadyService, startInstallation, type TestInstallation } from '#test/installation.ts'
import { newServicePorts } from '#test/ports.ts'
import { until } from '#test/until.ts'
import { has_restic, initFor, untilCopied, why } from './copied.ts'
import { leaveLock, why_no_lock } from './locked.ts'

const nowhere = newDataDir()
const text = `file://${nowhere}/repository`
const backup_to = parseBackupTarget(text) ?? expect.fail()
const service_ports = newServicePorts()
const [found, part] = [newDataDir(), newDataDir()]
const folders = [nowhere, found, part]
let first: TestInstallation | undefined
let server: Started | undefined
let recovery_key = ''
let token = ''
let services = ''
let shop: ReadyService
let copy: ReadyService
let moment: Date

const settings = (data_dir: string) => [
  '--data-dir',
  data_dir,
  '--service-ports',
  `${service_ports.first}-${service_ports.last}`,
]

beforeAll(async () => {
  if (!has_restic) return
  // A third of the lag is the pause between two rounds.
  first = await startInstallation({ config: { backup_to, backup_lag: 10, service_ports } })
  ;({ token, services } = first)
})

afterAll(async () => {
  await server?.end()
  await first?.stop()
  for (const folder of folders) await removeDataDir(folder)
})

function newFolder(): string {
  const folder = newDataDir()
  folders.push(folder)
  return folder
}

test.skipIf(why)(`no repository is made by itself, and the recovery key is shown once${why}`, async () => {
  const { data_dir } = first?.config ?? expect.fail()
  const status = await howdah(['admin', 'backup', 'status', '--data-dir', data_dir])
  expect(status.stderr).toContain('has no repository; make one with howdah admin backup init')
  const made = await howdah(['admin', 'backup', 'init', '--backup-to', text, '--data-dir', data_dir])
  recovery_key = /^ {2}([A-Z2-7]{4}(?:-[A-Z2-7]{4}){12})$/m.exec(made.stdout)?.[1] ?? ''
  expect(recovery_key).not.toBe('')
  const again = initFor(first?.config ?? expect.fail())
  await expect(again).rejects.toThrow('has a repository already')
  await expect(again).rejects.toThrow(`for another one stop the server, move ${join(data_dir, 'backup')} away`)
})

test.skipIf(why)(`a misspelt mount point is told, and no folder is made of it${why}`, async () => {
  const misspelt = join(nowhere, 'nsa')
  const backup_to = parseBackupTarget(`file://${misspelt}/howdah`)
  await expect(initFor(newTestConfig({ data_dir: newFolder(), backup_to }))).rejects.toThrow(
    `there is no folder ${misspelt}; check its name and that its disk is mounted, or make it`,
  )
  expect(existsSync(misspelt)).toBe(false)
})

test.skipIf(why)(`a second installation at the same place is refused${why}`, async () => {
  const config = newTestConfig({ data_dir: newFolder(), backup_to })
  await expect(initFor(config)).rejects.toThrow('the repository of another installation')
})

test.skipIf(why)(
  `a service with replicas is copied before and after its primary has changed, and so is a fork of it${why}`,
  { timeout: 900_000 },
  async () => {
    const own = first ?? expect.fail()
    const { call, server: of_first } = own
    shop = await own.createService({ name: 'shop', cpu_millis: 500, memory_gbs: 2, replica_count: 1 })
    const at = `${services}/${shop.service_id}`
    const sql = (statement: string) => until(() => ask(of_first.api_url, shop, shop.initial_password, statement))
    await sql('create table orders as select n from generate_series(1, 1000) n')
    copy = (await call('POST', `${at}/forkService`, { fork_strategy: 'NOW', name: 'copy' })).body as ReadyService
    await until(async () => (await call('GET', `${services}/${copy.service_id}`)).body.status === 'READY')
    await untilCopied(call, at)
    // From here on its WAL is another timeline's.
    await call('POST', `${at}/switchover`)
    await until(async () => (await sql(`select pg_walfile_name(pg_current_wal_lsn())`))[0]?.startsWith('00000002'))
    // It does not fill a WAL file: only its written part can be copied.
    await sql('insert into orders select n from generate_series(1001, 1100) n')
    const [now = ''] = await sql('select extract(epoch from clock_timestamp()) * 1000')
    moment = new Date(Math.ceil(Number(now)))
    await until(() => Date.now() > moment.getTime())
    await sql('delete from orders where n <= 600')
    await untilCopied(call, at)
    await untilCopied(call, `${services}/${copy.service_id}`)
    await first?.stop()
    first = undefined
  },
)

test.skipIf(why)(
  `one service comes back elsewhere as of a moment, and takes the repository from no installation${why}`,
  { timeout: 900_000 },
  async () => {
    const config = newTestConfig({ data_dir: part, backup_to: undefined })
    const parts = { log: newLog('silent'), tell: () => undefined, enter: async () => undefined }
    const spec = { config, from: backup_to, recovery_key, at: moment, ...parts }
    await expect(restoreInstallation({ ...spec, services: ['unknown123'] })).rejects.toThrow(
      'there is no service unknown123',
    )
    // What was misspelt binds nothing; what was interrupted does.
    const interrupted = { ...spec, services: [shop.service_id], enter: () => Promise.reject(new Error('interrupted')) }
    await expect(restoreInstallation(interrupted)).rejects.toThrow('interrupted')
    await expect(restoreInstallation({ ...spec, services: [] })).rejects.toThrow(
      'a restore with other options began there',
    )
    const plan = join(part, 'restoring', 'plan.json')
    writeFileSync(plan, JSON.stringify({ ...JSON.parse(readFileSync(plan, 'utf8')), version: undefined }))
    await expect(restoreInstallation(interrupted)).rejects.toThrow('a restore by another version of Howdah began there')
    await removeDataDir(part)
    // The lost machine died while it pruned the repository: to read, that need not be waited for.
    const lock = why_no_lock ? undefined : await leaveLock(join(nowhere, 'repository'), recovery_key)
    await restoreInstallation({ ...spec, services: [shop.service_id] })
    if (lock !== undefined) rmSync(join(nowhere, 'repository', 'locks', lock))
    const own = await startServer(config, { log: newLog('silent'), spares: 0 })
    try {
      const call = newCall(own.api_url, token)
      const names = async () => (await call<ServiceOrFault[]>('GET', services)).body.map(({ name }) => name)
      await until(async () => (await names()).join() === 'shop', { what: 'no other service is there' })
      const { endpoint } = await ready(call, shop)
      expect(await countOf(own.api_url, { endpoint }, shop)).toEqual(['1100'])
      expect(existsSync(backupFilesOf(part).repository)).toBe(false)
    } finally {
      await own.close()
      // It has the ports and the control groups of the whole.
      await removeDataDir(part)
    }
  },
)

test.skipIf(why)(
  `a lost machine comes back from the repository with ids, endpoints, passwords, tokens, timelines and every row that was copied${why}`,
  { timeout: 900_000 },
  async () => {
    const at = `${services}/${shop.service_id}`
    const env = { HOWDAH_RECOVERY_KEY: recovery_key }
    const words = ['admin', 'restore', '--from', text]
    for (const [given, message] of [
      [{}, 'give it in HOWDAH_RECOVERY_KEY'],
      [{ HOWDAH_RECOVERY_KEY: recovery_key.replace(/^.{4}/, 'AAAA') }, 'is not that of this repository'],
    ] as const) {
      const refused = await howdah([...words, '--list', '--data-dir', join(nowhere, 'nothing')], given)
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(message) })
    }
    expect((await howdah([...words, '--list'], env)).stdout).toMatch(new RegExp(`^${shop.service_id} +shop +20`, 'm'))
    expect((await howdah([...words, '--verify'], env)).stdout).toContain('The repository is whole')
    // Killed at some moment, it goes on where it was.
    await howdah([...words, ...settings(found)], env, ['timeout', '-s', 'KILL', '2'])
    const from = ['--restore-from', text, '--backup-to', text, '--backup-lag', '10', '--undelete', '0']
    server = await startHowdah([...from, ...settings(found)], env)
    expect(server.output()).toContain(`Restored into ${found}. howdah start --data-dir ${found} --backup-to ${text} `)
    // It may have been revoked since the copy, so the operator is told.
    expect(server.output()).toContain(`  ${token.split('.')[0]}  `)

    const again = newCall(server.url, token)
    const back = await ready(again, shop)
    expect(back).toMatchObject({ endpoint: shop.endpoint, name: 'shop', ha_replicas: { replica_count: 1 } })
    expect(await countOf(server.url, shop, shop)).toEqual(['500'])
    expect((await ready(again, copy)).forked_from).toMatchObject({ service_id: shop.service_id })
    expect(await countOf(server.url, copy, copy)).toEqual(['1000'])
    const events = (await again<{ message: string }[]>('GET', `${at}/events?kinds=backup`)).body
    expect(events.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^restored from the backup, as of/),
    )
    // It goes on making backups, and its primary stays.
    await untilCopied(again, at)
    expect((await again<object[]>('GET', `${at}/events?kinds=switchover`)).body).toHaveLength(1)
  },
)

test.skipIf(why)(`a deleted service comes back as a new one, beside those that run${why}`, async () => {
  const { url } = server ?? expect.fail()
  const call = newCall(url, token)
  await call('DELETE', `${services}/${copy.service_id}`)
  await until(async () => (await call('GET', `${services}/${copy.service_id}`)).status === 404)
  const words = ['admin', 'restore', '--from', text, '--into-running', '--service', copy.service_id, ...settings(found)]
  const { stdout } = await howdah(words)
  const [, service_id = ''] = /It is the service (\w{10}) \(copy-restored\)/.exec(stdout) ?? expect.fail(stdout)
  expect(service_id).not.toBe(copy.service_id)
  const made = await ready(call, { service_id })
  expect(await countOf(url, made, copy)).toEqual(['1000'])
  const events = (await call<{ message: string }[]>('GET', `${services}/${service_id}/events?kinds=created`)).body
  expect(events[0]?.message).toBe(`created as copy-restored, restored from the backup of ${copy.service_id}`)
})

test.skipIf(why)(`a repository that is away is told of, and not made anew${why}`, async () => {
  const call = newCall(server?.url ?? '', token)
  const at = `${services}/${shop.service_id}`
  renameSync(join(nowhere, 'repository'), join(nowhere, 'unmounted'))
  mkdirSync(join(nowhere, 'repository'))
  const told = async () => (await call<{ message: string }[]>('GET', `${at}/events?kinds=backup`)).body[0]?.message
  const away = /its backup is \d+ s behind: there is no repository in .*; check that its disk is mounted/
  await until(async () => away.test((await told()) ?? ''), { what: 'it is told that the repository is away' })
  renameSync(join(nowhere, 'unmounted'), join(nowhere, 'repository'))
  await until(async () => (await told()) === 'its backup is in time again')
})

const countOf = (api_url: string, database: Database, { initial_password }: ReadyService) =>
  ask(api_url, database, initial_password, 'select count(*) from orders')

async function ready(call: Call, { service_id }: { service_id: string }): Promise<ServiceOrFault> {
  return await until(async () => {
    const { body } = await call('GET', `${services}/${service_id}`)
    return body.status === 'READY' && body
  })
}
