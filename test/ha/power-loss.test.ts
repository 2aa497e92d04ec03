// A machine that loses its power while a replica takes over: the WAL of the lost primary that was made ready for the replica is on the disk
// before it takes the place of any other.
import { execFileSync } from 'node:child_process'
import { afterAll, expect, test } from 'vitest'
import { newLossyDisk } from '#test/lossy-disk.ts'
import { ask } from '#test/provider/service-fixture.ts'
import { nodePid } from '#test/provider/standby-fixture.ts'
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
