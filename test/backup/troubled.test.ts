// A repository that hangs, is away and comes back: services go on, their archives are pruned as ever, it is told, and the copy catches up.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask } from '#test/database.ts'
import { type ReadyService, startInstallation, type TestInstallation } from '#test/installation.ts'
import { scrape } from '#test/metrics-scrape.ts'
import { until } from '#test/until.ts'
import { initFor, untilCopied } from './copied.ts'
import { drill } from './drilling.ts'
import { newS3, secrets, why_no_s3 } from './s3.ts'

const s3 = newS3()
let howdah: TestInstallation
let service: ReadyService
let at = ''

beforeAll(async () => {
  if (why_no_s3) return
  await s3.start()
  howdah = await startInstallation({ config: { backup_to: s3.target, backup_lag: 6, ...secrets } })
  await initFor(howdah.config)
  service = await howdah.createService({ cpu_millis: 'shared' })
  at = `${howdah.services}/${service.service_id}`
  await untilCopied(howdah.call, at)
})

afterAll(async () => {
  await s3.remove()
  await howdah?.stop()
})

const sql = (text: string) => ask(howdah.server.api_url, service, service.initial_password, text)

async function untilTold(message: RegExp): Promise<void> {
  const told = async () =>
    (await howdah.call<{ message: string }[]>('GET', `${at}/events?kinds=backup`)).body[0]?.message
  await until(async () => message.test((await told()) ?? ''), { what: `the last event is ${message}` })
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
    await untilTold(
      /^its backup is \d+ s behind: the last run took too long; nothing local is lost, and it catches up$/,
    )
    expect(await lag()).toBeGreaterThan(6)
    // Nothing needs the WAL before the only snapshot.
    const home = join(howdah.config.data_dir, 'local', 'services', service.service_id)
    const foldersOfWal = [join(home, 'archive'), join(home, 'backup', 'archive')]
    const [first = ''] = readdirSync(join(home, 'archive'))
      .filter((one) => one.length === 24)
      .toSorted()
    expect(first).not.toBe('')
    type Seen = { id: string; status: string }
    const { id } = (await howdah.call<Seen>('POST', `${at}/snapshots`)).body
    const listed = async () => (await howdah.call<Seen[]>('GET', `${at}/snapshots`)).body
    await until(async () => (await listed()).some((one) => one.id === id && one.status === 'complete'))
    for (const one of await listed()) if (one.id !== id) await howdah.call('DELETE', `${at}/snapshots/${one.id}`)
    const isGone = () => foldersOfWal.every((one) => !readdirSync(one).includes(first))
    await until(isGone, { what: 'the archive is pruned' })
    expect(await sql('select count(*) from orders')).toEqual(['60000'])
  },
)

test.skipIf(why_no_s3)(
  `a repository that is away is told with its own words, and the copy catches up${why_no_s3}`,
  async () => {
    s3.signal('SIGKILL')
    await sql('insert into orders values (0)')
    await untilTold(/^its backup is \d+ s behind: .*connection refused/)
    await s3.start()
    await untilTold(/^its backup is in time again$/)
    // What was pruned meanwhile is not in it: with the new snapshot it is whole again.
    const protection = async () => (await howdah.call('GET', at)).body.protection
    const isWhole = async () => (await protection())?.last_backup_at === (await protection())?.last_snapshot_at
    await until(isWhole, { what: 'the new snapshot is in the repository' })
    await untilCopied(howdah.call, at)
    expect(await drill(howdah, service)).toBeUndefined()
  },
)
