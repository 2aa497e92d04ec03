// A repository that hangs, is away, answers with errors, is slow, and comes back: services go on, their archives are pruned as ever, it is
// told, and the copy catches up.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { backupFilesOf, type BackupState } from '#server/backup/backup-files.ts'
import { ask } from '#test/database.ts'
import { type ReadyService, startInstallation, type TestInstallation } from '#test/installation.ts'
import { scrape } from '#test/metrics-scrape.ts'
import { until } from '#test/until.ts'
import { initFor, untilCopied } from './copied.ts'
import { drill } from './drilling.ts'
import { newProxy } from './s3-proxy.ts'
import { newS3, s3TargetAt, secrets, why_no_s3 } from './s3.ts'

const quota_gb = 0.3
const s3 = newS3()
const proxy = newProxy(s3.other_port, s3.url)
let howdah: TestInstallation
let service: ReadyService
let at = ''

beforeAll(async () => {
  if (why_no_s3) return
  await s3.start()
  await proxy.open()
  const config = { backup_to: s3TargetAt(proxy.url), backup_lag: 6, disk_quota: quota_gb, ...secrets }
  howdah = await startInstallation({ config, sample_interval_ms: 200 })
  await initFor(howdah.config)
  service = await howdah.createService({ cpu_millis: 'shared' })
  at = `${howdah.services}/${service.service_id}`
  await untilCopied(howdah.call, at)
})

afterAll(async () => {
  await howdah?.stop()
  await proxy.close()
  await s3.remove()
})

const sql = (text: string) => ask(howdah.server.api_url, service, service.initial_password, text)

async function untilTold(message: RegExp): Promise<void> {
  const told = async () =>
    (await howdah.call<{ message: string }[]>('GET', `${at}/events?kinds=backup`)).body[0]?.message
  await until(async () => message.test((await told()) ?? ''), { what: `the last event is ${message}` })
}

/** The archive, and the links to it that wait to be copied. */
function foldersOfWal(): string[] {
  const home = join(howdah.config.data_dir, 'local', 'services', service.service_id)
  return [join(home, 'archive'), join(home, 'backup', 'archive')]
}

const segmentsIn = (folder: string) =>
  readdirSync(folder)
    .filter((one) => one.length === 24)
    .toSorted()

/** Its newest snapshot is in the repository, and all that was committed before. */
async function untilWhole(): Promise<void> {
  const protection = async () => (await howdah.call('GET', at)).body.protection
  const isWhole = async () => (await protection())?.last_backup_at === (await protection())?.last_snapshot_at
  await until(isWhole, { what: 'the newest snapshot is in the repository' })
  await untilCopied(howdah.call, at)
}

async function lag(): Promise<number> {
  const { text } = await scrape(howdah)
  return Number(/^howdah_service_backup_lag_seconds\{[^}]*\} (\S+)$/m.exec(text)?.[1])
}

test.skipIf(why_no_s3)(
  `while a repository does not answer, that is told, and the archive is pruned${why_no_s3}`,
  async () => {
    s3.signal('SIGSTOP')
    await sql('create table orders as select n, repeat(md5(n::text), 8) from generate_series(1, 60000) n')
    await untilTold(/^its backup is \d+ s behind: the last run took too long; nothing local is lost$/)
    expect(await lag()).toBeGreaterThan(6)
    // Nothing needs the WAL before the only snapshot.
    const [first = ''] = segmentsIn(foldersOfWal()[0] ?? '')
    expect(first).not.toBe('')
    type Seen = { id: string; status: string }
    const { id } = (await howdah.call<Seen>('POST', `${at}/snapshots`)).body
    const listed = async () => (await howdah.call<Seen[]>('GET', `${at}/snapshots`)).body
    await until(async () => (await listed()).some((one) => one.id === id && one.status === 'complete'))
    for (const one of await listed()) if (one.id !== id) await howdah.call('DELETE', `${at}/snapshots/${one.id}`)
    const isGone = () => foldersOfWal().every((one) => !readdirSync(one).includes(first))
    await until(isGone, { what: 'the archive is pruned' })
    expect(await sql('select count(*) from orders')).toEqual(['60000'])
  },
)

test.skipIf(why_no_s3)(
  `a repository that is away is told with its own words, and the copy catches up${why_no_s3}`,
  async () => {
    s3.signal('SIGCONT')
    await proxy.close()
    await sql('insert into orders values (0)')
    await untilTold(/^its backup is \d+ s behind: .*connection refused/)
    await proxy.open()
    await untilTold(/^its backup is in time again$/)
    // What was pruned meanwhile is not in it: with the new snapshot it is whole again.
    await untilWhole()
    expect(await drill(howdah, service)).toBeUndefined()
  },
)

test.skipIf(why_no_s3)(
  `a repository that answers with errors holds nothing up, and has all of it when it no longer does${why_no_s3}`,
  async () => {
    proxy.be({ errors: [500, 503] })
    await sql('insert into orders values (-1)')
    await untilTold(/^its backup is \d+ s behind: /)
    await sql('insert into orders values (-2)')
    proxy.be({})
    await untilTold(/^its backup is in time again$/)
    await untilCopied(howdah.call, at)
  },
)

test.skipIf(why_no_s3)(`a slow repository is told of, and goes on to receive what is written${why_no_s3}`, async () => {
  proxy.be({ slow_ms: 200 })
  await sql('insert into orders values (-3)')
  await untilTold(/^its backup is \d+ s behind: the last run took too long/)
  await untilCopied(howdah.call, at)
  proxy.be({})
  await untilTold(/^its backup is in time again$/)
})

test.skipIf(why_no_s3)(
  `while a repository is away for a day, the archive stays within its quota; then the copy catches up, and the service can be restored${why_no_s3}`,
  async () => {
    // Those that a person took are kept, whatever the quota; without any, one is taken at once.
    type Seen = { id: string; kind: string; status: string }
    const listed = async () => (await howdah.call<Seen[]>('GET', `${at}/snapshots`)).body
    for (const { id } of await listed()) await howdah.call('DELETE', `${at}/snapshots/${id}`)
    const isScheduled = ({ kind, status }: Seen) => kind === 'scheduled' && status === 'complete'
    await until(async () => (await listed()).some(isScheduled), { what: 'there is a snapshot of the schedule' })
    await proxy.close()
    await howdah.server.close()
    const path = backupFilesOf(howdah.config.data_dir).state
    const state = JSON.parse(readFileSync(path, 'utf8')) as BackupState // the server's own
    const day_ago = new Date(Date.now() - 86_400_000).toISOString()
    const services = Object.entries(state.services).map(([id, one]) => [id, { ...one, wal_until: day_ago }])
    const aged = { ...state, services: Object.fromEntries(services), tidied_at: day_ago, checked_at: day_ago }
    writeFileSync(path, JSON.stringify(aged))
    await howdah.restart()
    await untilTold(/^its backup is 864\d\d s behind: .*connection refused/)
    // Each round leaves WAL, and no data.
    const bytesIn = (folder: string) =>
      segmentsIn(folder).reduce(
        (sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0),
        0,
      )
    const gaveWay = async () =>
      (await howdah.call<{ message: string }[]>('GET', `${at}/events?kinds=disk_quota`)).body.some(({ message }) =>
        message.startsWith('its archive gives way'),
      )
    await until(
      async () => {
        // Refused while it is full, until the archive has given way.
        await sql(
          'create table big as select repeat(md5(n::text), 32) from generate_series(1, 10000) n; drop table big',
        ).catch(() => undefined)
        return await gaveWay()
      },
      { what: 'the archive gives way' },
    )
    const [archive = '', links = ''] = foldersOfWal()
    const isWithin = () => {
      const archived = new Set(segmentsIn(archive))
      return bytesIn(archive) < quota_gb * 1024 ** 3 && segmentsIn(links).every((name) => archived.has(name))
    }
    await until(isWithin, { what: 'the archive is within the quota, and no link keeps what it has given up' })
    await proxy.open()
    await untilTold(/^its backup is in time again$/)
    await untilWhole()
    expect(await drill(howdah, service)).toBeUndefined()
    expect(await sql('select count(*) from orders where n <= 0')).toEqual(['4'])
  },
)
