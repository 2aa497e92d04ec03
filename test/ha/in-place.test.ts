// A replica that takes over as it runs: its server goes on, nothing is replayed again, and a relay leads to it from the endpoint until
// its next start brings it home.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { WantedService } from '#providers/provider.ts'
import { signalIfThere } from '#providers/host/daemon.ts'
import { listHostProcesses, wordsOf as commandOf } from '#providers/host/process.ts'
import { askHaproxy } from '#providers/local/haproxy/control.ts'
import { nodeOf } from '#providers/local/host/layout.ts'
import { as_root, ask, loginTo, noProcessBelow, settle } from '#test/provider/service-fixture.ts'
import { mayMount, whySkipped } from '#test/disk.ts'
import { until } from '#test/until.ts'
import {
  childOf,
  dataOf,
  haveRead,
  homeOf,
  nodePid,
  standbysOf,
  walReceiverOf,
  withReplicas,
} from '#test/provider/standby-fixture.ts'
import { type Ha, messagesUntilSettled, newHa, primaryOf, wordsOf } from './ha-fixture.ts'

const write = ({ provider, wanted }: Ha, word: string) => ask(provider, wanted, `insert into kept values ('${word}')`)

/** The relay by its command line; undefined when none runs. */
async function relayOf({ world, wanted }: Ha): Promise<number | undefined> {
  const settings = join(homeOf(world, wanted), 'relay.cfg')
  return (await listHostProcesses()).find((one) => commandOf(one).includes(settings))?.pid
}

async function failOver(ha: Ha, lost: number): Promise<void> {
  process.kill(await nodePid(ha.world, ha.wanted, lost), 'SIGKILL')
  await messagesUntilSettled(ha)
}

test('the server of the replica goes on, with every commit, and so does the one after it', async () => {
  const ha = await newHa(1, 1)
  const { world, provider, wanted } = ha
  await write(ha, 'before')
  const running = await nodePid(world, wanted, 1)
  await failOver(ha, 0)
  expect(await primaryOf(ha)).toEqual({ node: 1, term: 2, switchovers: 0, relayed: true })
  expect(await nodePid(world, wanted, 1)).toBe(running)
  await write(ha, 'between')
  expect(await standbysOf(provider, wanted)).toEqual({ node_0: 'streaming' })
  expect(await messagesUntilSettled({ ...ha, wanted })).toEqual([])
  const [relay, rejoined] = [await relayOf(ha), await nodePid(world, wanted, 0)]

  await failOver(ha, 1)
  expect(await primaryOf(ha)).toEqual({ node: 0, term: 3, switchovers: 0, relayed: true })
  expect(await nodePid(world, wanted, 0)).toBe(rejoined)
  expect(await relayOf(ha)).not.toBe(relay)
  await write(ha, 'after')
  expect(await wordsOf(ha)).toBe('after,before,between')
  expect(await standbysOf(provider, wanted)).toEqual({ node_1: 'streaming' })
})

test('a dead primary is tried once by its relay, so that neither a client nor the next pass waits for more', async () => {
  const ha = await newHa(1, 1)
  const { world, provider, wanted } = ha
  await failOver(ha, 0)
  const { service_sockets } = nodeOf(world.directory, wanted.service_id, wanted.home.port, as_root)
  const primary = await nodePid(world, wanted, 1)
  process.kill(primary, 'SIGKILL')
  await until(() => !existsSync(`/proc/${primary}`))
  await expect(loginTo(provider, wanted)).rejects.toThrow()
  const statistics = (await askHaproxy(service_sockets, 'relay', 'show stat')) ?? ''
  const [names = [], ...rows] = statistics.split('\n').map((line) => line.split(','))
  const counted = (name: string) => rows.find((row) => row[1] === 'node_1')?.[names.indexOf(name)]
  expect({ connections_failed: counted('econ'), tried_again: counted('wretr') }).toEqual({
    connections_failed: '1',
    tried_again: '0',
  })
})

test('a replica whose checkpointer has not read for whom commits wait does not take over as it runs', async () => {
  const ha = await newHa(1, 0)
  const { world, provider } = ha
  const running = await nodePid(world, ha.wanted, 1)
  const checkpointer = await childOf(running, 'checkpointer')
  process.kill(checkpointer, 'SIGSTOP')
  onTestFinished(() => signalIfThere(checkpointer, 'SIGCONT'))
  const wanted = withReplicas(ha.wanted, 2, 1, 1)
  await settle(provider, wanted)
  await haveRead(world, wanted)
  process.kill(await nodePid(world, wanted, 0), 'SIGKILL')
  await messagesUntilSettled({ provider, wanted })
  expect(await nodePid(world, wanted, 1)).not.toBe(running)
  expect(await primaryOf({ ...ha, wanted })).toMatchObject({ node: 1, term: 2 })
})

test('what the lost primary had not sent is read by the replica as it runs', async () => {
  const ha = await newHa(1, 0)
  const { world, provider, wanted } = ha
  const running = await nodePid(world, wanted, 1)
  const receiver = await walReceiverOf(running)
  process.kill(receiver, 'SIGSTOP')
  // More than one file of WAL.
  await ask(provider, wanted, `insert into kept select repeat('x', 8000) from generate_series(1, 4000)`)
  await write(ha, 'not sent')
  process.kill(await nodePid(world, wanted, 0), 'SIGKILL')
  process.kill(receiver, 'SIGCONT')
  const messages = await messagesUntilSettled({ ...ha, wanted })
  expect(messages.filter((message) => message.includes('copied anew'))).toEqual([])
  expect(await nodePid(world, wanted, 1)).toBe(running)
  expect(await ask(provider, wanted, 'select count(*) from kept')).toBe('4001')
  expect(existsSync(join(homeOf(world, wanted), 'node-1', 'tail'))).toBe(false)
})

const why = whySkipped(mayMount())

describe.skipIf(why)(`without disk space for what the lost primary had not sent${why}`, () => {
  /** Its copy is laid on a disk that is too small, once. */
  async function newHaOnSmallDisk(sync: number) {
    let small: string | undefined
    let is_small = true
    const effect = async (name: string) => {
      if (name === 'WAL of the lost primary: lay aside' && is_small && small) {
        is_small = false
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=777', 'tmpfs', small])
      } else if (name === 'WAL of the lost primary: remove' && small) {
        spawnSync('umount', [small])
      }
    }
    const ha = await newHa(1, sync, { effect })
    small = join(homeOf(ha.world, ha.wanted), 'node-1', 'tail.new')
    onTestFinished(() => void spawnSync('umount', [small ?? '']))
    await write(ha, 'acknowledged')
    const receiver = await walReceiverOf(await nodePid(ha.world, ha.wanted, 1))
    process.kill(receiver, 'SIGSTOP')
    const session = await loginTo(ha.provider, ha.wanted)
    const sent = session.query(`insert into kept values ('not sent')`).then(
      () => true,
      () => false,
    )
    if (sync === 0) await sent
    else await until(async () => (await ask(ha.provider, ha.wanted, waiting)) === '1', { what: 'the commit waits' })
    process.kill(await nodePid(ha.world, ha.wanted, 0), 'SIGKILL')
    process.kill(receiver, 'SIGCONT')
    return { ...ha, isSmall: () => is_small, isAcknowledged: () => sent }
  }
  const waiting = `select count(*) from pg_stat_activity where wait_event = 'SyncRep'`

  test('a replica for which commits waited takes over, and lacks none that was acknowledged', async () => {
    const { isSmall, isAcknowledged, ...ha } = await newHaOnSmallDisk(1)
    const { events } = await ha.provider.service.apply(ha.wanted)
    expect(events.map(({ kind }) => kind)).toContain('promoted')
    expect(isSmall()).toBe(false)
    await messagesUntilSettled(ha)
    // It may have been sent and confirmed at the last moment.
    const acknowledged = ['acknowledged', ...((await isAcknowledged()) ? ['not sent'] : [])]
    expect((await wordsOf(ha)).split(',')).toEqual(expect.arrayContaining(acknowledged))
  })

  test('where none waited it is said that there is no space, and with the space comes what was not sent', async () => {
    const { isSmall, isAcknowledged, ...ha } = await newHaOnSmallDisk(0)
    const { waiting_for } = await ha.provider.service.apply(ha.wanted)
    expect(waiting_for).toMatch(/^no space left on the disk of /)
    expect([isSmall(), await isAcknowledged()]).toEqual([false, true])
    await messagesUntilSettled(ha)
    expect(await wordsOf(ha)).toBe('acknowledged,not sent')
  })
})

test.each(['SIGKILL', 'SIGSTOP'] as const)('a relay that got %s is started again, and says so', async (signal) => {
  const ha = await newHa(1, 1)
  const { world, provider, wanted } = ha
  await failOver(ha, 0)
  const [relay, running] = [await relayOf(ha), await nodePid(world, wanted, 1)]
  const called = new Promise<string>((resolve) => provider.watch((_, id) => resolve(id)))
  process.kill(relay ?? expect.fail('there is a relay'), signal)
  expect(await called).toBe(wanted.service_id)
  const messages = await messagesUntilSettled({ ...ha, wanted })
  expect(messages).toContain('the relay to the primary died and was started again')
  expect(await relayOf(ha)).not.toBe(relay)
  expect(await nodePid(world, wanted, 1)).toBe(running)
  await write(ha, 'after')
})

test('a new size, a planned change and a stop bring the primary home to its endpoint', async () => {
  const ha = await newHa(1, 1)
  const { world, provider, wanted } = ha
  await write(ha, 'kept')
  await failOver(ha, 0)
  const larger: WantedService = { ...wanted, generation: 2, size: { cpu_millis: 500, memory_gbs: 2 } }
  await settle(provider, larger)
  expect(await primaryOf(ha)).toEqual({ node: 1, term: 2, switchovers: 0 })
  expect(await relayOf(ha)).toBeUndefined()

  process.kill(await nodePid(world, wanted, 1), 'SIGKILL')
  await settle(provider, larger)
  expect(await primaryOf(ha)).toMatchObject({ node: 0, relayed: true })
  await settle(provider, { ...larger, generation: 3, power: 'off' })
  expect(await primaryOf(ha)).toEqual({ node: 0, term: 3, switchovers: 0 })
  expect(await relayOf(ha)).toBeUndefined()
  await settle(provider, { ...larger, generation: 4 })

  process.kill(await nodePid(world, wanted, 0), 'SIGKILL')
  await settle(provider, { ...larger, generation: 4 })
  expect(await primaryOf(ha)).toMatchObject({ node: 1, relayed: true })
  const ha_spec = { replica_count: 1, sync_replica_count: 1, switchovers: 1 }
  await settle(provider, { ...larger, generation: 5, ha: ha_spec })
  expect(await primaryOf(ha)).toEqual({ node: 0, term: 5, switchovers: 1 })
  expect(await relayOf(ha)).toBeUndefined()
  expect(await wordsOf(ha)).toBe('kept')
})

test('a relayed primary that dies when it has no replica any more is started again at its endpoint', async () => {
  const ha = await newHa(1, 1)
  const { world, provider, wanted } = ha
  await write(ha, 'kept')
  await failOver(ha, 0)
  const alone: WantedService = {
    ...wanted,
    generation: 2,
    ha: { replica_count: 0, sync_replica_count: 0, switchovers: 0 },
  }
  await settle(provider, alone)
  expect(await primaryOf(ha)).toMatchObject({ node: 1, relayed: true })
  process.kill(await nodePid(world, wanted, 1), 'SIGKILL')
  const messages = await messagesUntilSettled({ ...ha, wanted: alone })
  expect(messages).toContain('PostgreSQL died and was started again')
  expect(await primaryOf(ha)).toEqual({ node: 1, term: 2, switchovers: 0 })
  expect(await relayOf(ha)).toBeUndefined()
  expect(await wordsOf(ha)).toBe('kept')
})

test('a node that dies while it is promoted has at its next start what the lost primary had not sent', async () => {
  let die: (() => Promise<void>) | undefined
  const effect = async (name: string) => {
    if (name === 'replica: promote') await die?.()
  }
  const ha = await newHa(1, 0, { effect })
  const { world, provider, wanted } = ha
  const receiver = await walReceiverOf(await nodePid(world, wanted, 1))
  process.kill(receiver, 'SIGSTOP')
  await write(ha, 'not sent')
  // Nothing is left of the first one from which it could be started again.
  die = async () => {
    die = undefined
    await rename(dataOf(world, wanted, 0), join(world.directory, 'lost'))
    process.kill(await nodePid(world, wanted, 1), 'SIGKILL')
    await noProcessBelow(dataOf(world, wanted, 1))
    // PostgreSQL had removed its own files to put those in their place that it was offered.
    const offered = await readdir(join(homeOf(world, wanted), 'node-1', 'tail'))
    expect(offered.length).toBeGreaterThan(1)
    for (const name of offered) await rm(join(dataOf(world, wanted, 1), 'pg_wal', name), { force: true })
  }
  process.kill(await nodePid(world, wanted, 0), 'SIGKILL')
  process.kill(receiver, 'SIGCONT')
  await provider.service.apply(wanted).catch(() => undefined)
  expect(die).toBeUndefined()
  await messagesUntilSettled({ ...ha, wanted })
  expect(await wordsOf(ha)).toBe('not sent')
})

test('where a history lies beyond that of the replica, it is started at the endpoint, and answers no client before it is the primary', async () => {
  const answers: string[] = []
  let tryLogin: (() => Promise<void>) | undefined
  const effect = async (name: string) => {
    if (name === 'replica: promote') await tryLogin?.()
  }
  const ha = await newHa(1, 1, { effect })
  const { world, provider, wanted } = ha
  await write(ha, 'kept')
  const running = await nodePid(world, wanted, 1)
  await writeFile(join(dataOf(world, wanted, 1), 'pg_wal', '00000002.history'), '1\t0/1000000\tgiven up\n')
  tryLogin = async () => {
    await loginTo(provider, wanted).then(
      async (session) => {
        answers.push('let in')
        await session.end()
      },
      (error: Error) => answers.push(error.message),
    )
  }
  await failOver(ha, 0)
  expect(answers.length).toBeGreaterThan(0)
  expect(answers).not.toContain('let in')
  expect(await primaryOf(ha)).toEqual({ node: 1, term: 2, switchovers: 0 })
  expect(await nodePid(world, wanted, 1)).not.toBe(running)
  expect(await relayOf(ha)).toBeUndefined()
  expect(await wordsOf(ha)).toBe('kept')
})
