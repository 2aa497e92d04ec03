// A machine that loses its power while a replica takes over: the WAL of the lost primary that was made ready for the replica is on the disk
// before it takes the place of any other.
import { execFileSync } from 'node:child_process'
import { chown, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { newLossyDisk } from '#test/lossy-disk.ts'
import { ask } from '#test/provider/service-fixture.ts'
import { dataOf, nodePid, walReceiverOf } from '#test/provider/standby-fixture.ts'
import { type Ha, messagesUntilSettled, newHa, primaryOf, wordsOf } from './ha-fixture.ts'

// Copies that share blocks are as durable as what they were copied from.
const disk = newLossyDisk({ size: '3G', shares_blocks: false })
const { why } = disk

afterAll(() => disk.remove())

/** Power that is lost right before an effect, from the next pass on. */
function newPower() {
  let last: string | undefined
  const effect = (name: string) => {
    if (name !== last) return
    last = undefined
    disk.losePower('named')
    throw new Error('the machine has no power')
  }
  const loseAt = async ({ world, provider, wanted }: Ha, name: string): Promise<void> => {
    last = name
    await provider.service.apply(wanted).catch(() => undefined)
    expect(last, `the power is lost at: ${name}`).toBeUndefined()
    await world.close()
    await disk.mount()
  }
  return { effect, loseAt }
}

test.skipIf(why)(
  `a replica whose machine loses its power while it is promoted, and once more, has every commit${why}`,
  async () => {
    const { effect, loseAt } = newPower()
    const ha = await newHa(1, 1, { effect }, disk.path)
    const { world, provider, wanted } = ha
    execFileSync('sync', ['-f', disk.path])
    await ask(provider, wanted, `insert into kept values ('acknowledged')`)
    process.kill(await nodePid(world, wanted, 0), 'SIGKILL')
    await loseAt(ha, 'replica: promote')
    expect(await primaryOf(ha)).toMatchObject({ node: 1, relayed: true })
    await loseAt({ ...ha, provider: await world.open({ effect }) }, 'primary: write aside')
    const next = { ...ha, provider: await world.open() }
    await messagesUntilSettled(next)
    expect(await wordsOf(next)).toBe('acknowledged')
  },
)

test.skipIf(why)(
  `a replica whose machine loses its power before its start at the endpoint has what was not sent${why}`,
  async () => {
    const { effect, loseAt } = newPower()
    const ha = await newHa(1, 0, { effect }, disk.path)
    const { world, provider, wanted } = ha
    const receiver = await walReceiverOf(await nodePid(world, wanted, 1))
    process.kill(receiver, 'SIGSTOP')
    // More than one file of WAL.
    await ask(provider, wanted, `insert into kept select repeat('x', 8000) from generate_series(1, 4000)`)
    // With a history beyond its own it is not promoted as it runs.
    const history = join(dataOf(world, wanted, 1), 'pg_wal', '00000002.history')
    await writeFile(history, '1\t0/1000000\tgiven up\n')
    const { uid, gid } = await stat(dataOf(world, wanted, 1))
    await chown(history, uid, gid)
    execFileSync('sync', ['-f', disk.path])
    process.kill(await nodePid(world, wanted, 0), 'SIGKILL')
    process.kill(receiver, 'SIGCONT')
    await loseAt(ha, 'postmaster: spawn')
    expect(await primaryOf(ha)).toEqual({ node: 1, term: 2, switchovers: 0 })
    const next = { ...ha, provider: await world.open() }
    await messagesUntilSettled(next)
    expect(await ask(next.provider, wanted, 'select count(*) from kept')).toBe('4000')
  },
)
