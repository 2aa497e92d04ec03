// Attack: one tenant takes the disk to its last byte by transactions that begin with `begin read write`, by temporary files or
// by its log, and so ends the databases of all others. Needs a small disk of its own, so a root that may mount.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, loginTo } from '#test/database.ts'
import { freeMb, heldMb, newDataDirOnDisk, removeDataDirOnDisk } from '#test/disk.ts'
import { familyOf } from '#test/fork/family.ts'
import { type ReadyService, startInstallation, type TestInstallation } from '#test/installation.ts'
import { seedDataDir } from '#test/seed.ts'
import { until } from '#test/until.ts'
import { startGreed } from './greed.ts'

const { data_dir, disk, mounted, why } = newDataDirOnDisk(900)
const reserve_mb = 128
/** A busy machine takes long to fill a disk. */
const timeout_ms = 500_000
/**
 * What databases may take of the reserve to go on, once the service that filled the disk is shut: each of two its next WAL file, and a
 * copy of one into the archive that was under way; and as much again on a busy machine. A tenant that gets at the reserve takes all of it.
 */
const taken_mb_max = 48

let howdah: TestInstallation
let other: ReadyService

beforeAll(async () => {
  if (!mounted) return
  await seedDataDir(data_dir)
  howdah = await startInstallation({ config: { data_dir, disk_quota: 0 } })
  other = await howdah.createService({ name: 'other', cpu_millis: 'shared' })
  await familyOf(howdah).untilSnapshot(other)
})

afterAll(async () => {
  if (!mounted) return
  await howdah?.server.close()
  await removeDataDirOnDisk(data_dir, disk)
})

const query = (service: ReadyService, sql: string) => ask(howdah.server.api_url, service, service.initial_password, sql)
const livesSince = (service: ReadyService) => query(service, 'select pg_postmaster_start_time()')
const events = async (service: ReadyService) => (await familyOf(howdah).events(service)).join('\n')

/** A service that is removed afterwards, also when the attack succeeded: the next one begins with the same space. */
async function withGreedy(name: string, attack: (service: ReadyService) => Promise<void>): Promise<void> {
  const service = await howdah.createService({ name, cpu_millis: 'shared' })
  try {
    await familyOf(howdah).untilSnapshot(service)
    await query(service, 'create table hoard (line text)')
    await attack(service)
  } finally {
    await howdah.call('DELETE', `${howdah.services}/${service.service_id}`)
    await howdah.untilStatus(service.service_id, 'removed')
    await howdah.untilStatus(other.service_id, 'READY')
  }
}

/** The least that was left, the reserve counted, until the service is shut, or the attack is over, and a while after it. */
async function leastLeftUntilShut(
  service: ReadyService,
  onShut: () => void = () => undefined,
  isOver = () => false,
): Promise<number> {
  let least = Infinity
  const poll = () => {
    const [held, free] = [heldMb(disk), freeMb(disk)]
    // The reserve may be freed between the two looks.
    if (held === heldMb(disk)) least = Math.min(least, free + held)
  }
  const timer = setInterval(poll, 5)
  try {
    const isShut = async () => (await events(service)).includes('logins are refused')
    await until(async () => isOver() || (await isShut()), { timeout_ms, what: 'it is shut' })
    onShut()
    const seen_at = Date.now()
    // It comes back whenever it can.
    await until(() => Date.now() - seen_at > 3_000)
  } finally {
    clearInterval(timer)
  }
  return least
}

describe.skipIf(why)(`a disk that is nearly full${why}`, { timeout: 2 * timeout_ms }, () => {
  test('a loop of `begin read write` never takes the reserve, and ends no database', async () => {
    const before = await livesSince(other)
    await withGreedy('greedy', async (greedy) => {
      const greed = startGreed(howdah, greedy)
      try {
        expect(await leastLeftUntilShut(greedy)).toBeGreaterThanOrEqual(reserve_mb - taken_mb_max)
      } finally {
        await greed.stop()
      }
      expect(greed.committed()).toBeGreaterThan(0)
      expect(greed.refusals().join('\n')).toMatch(/rejects connection/)
      expect(await livesSince(other)).toEqual(before)
      expect(await events(other)).toContain('serves reads only until there is more space')
      expect(await events(other)).not.toContain('logins are refused')
    })
    expect(await livesSince(other)).toEqual(before)
    await query(other, 'create table t ()')
  })

  test('neither does the archive of a service that is shut, when it has fallen behind', async () => {
    await withGreedy('late', async (greedy) => {
      const [archiver] = await query(greedy, `select pid::text from pg_stat_activity where backend_type = 'archiver'`)
      process.kill(Number(archiver), 'SIGSTOP')
      const greed = startGreed(howdah, greedy)
      try {
        const left = await leastLeftUntilShut(greedy, () => continueIfThere(Number(archiver)))
        expect(left).toBeGreaterThanOrEqual(reserve_mb - taken_mb_max)
      } finally {
        await greed.stop()
      }
    })
    await query(other, 'select 1')
  })

  test('neither do temporary files of a query that only reads', async () => {
    await withGreedy('sorter', async (greedy) => {
      const sort = `select repeat(md5(n::text), 20) from generate_series(1, 10000000) n order by 1 offset 9999999`
      await expectHeldDuring(greedy, sort)
      // What it had taken came back with its end.
      await howdah.untilStatus(greedy.service_id, 'READY')
    })
  })

  test('neither does a log that is written as fast as can be', async () => {
    await withGreedy('talker', async (greedy) => {
      await expectHeldDuring(greedy, `do $$ begin loop raise log '%', repeat('x', 100000); end loop; end $$`)
      expect((await query(other, 'select 1'))[0]).toBe('1')
    })
  })
})

/** It is shut, or refused before that: no more temporary files are given to a service while there is little space. */
async function expectHeldDuring(greedy: ReadyService, sql: string): Promise<void> {
  const session = await loginTo(howdah.server.api_url, greedy, greedy.initial_password)
  let outcome = ''
  // Where it comes to the reserve before it is noticed, it is refused space and tries again.
  const attack = async (): Promise<void> => {
    try {
      await session.query(sql)
      outcome = 'finished'
    } catch (error) {
      if (error instanceof Error && error.message.includes('No space left')) return attack()
      outcome = 'ended'
    }
  }
  const attacking = attack()
  try {
    const least = await leastLeftUntilShut(greedy, undefined, () => outcome !== '')
    expect(least).toBeGreaterThanOrEqual(reserve_mb - taken_mb_max)
    await attacking
    expect(outcome).toBe('ended')
  } finally {
    await session.end().catch(() => undefined)
  }
}

/** It is gone with its server, where that found no space for its next WAL file before it was shut. */
function continueIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT')
  } catch {}
}
