// A log that PostgreSQL itself writes: it is rotated, its old part goes while the service runs, and who follows it by cursor
// meanwhile loses nothing that is kept and reads nothing twice.
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '#test/until.ts'
import { loginTo, newWanted, settle, useWorlds } from './service-fixture.ts'

const { newWorld } = useWorlds()
const mib = 1024 ** 2

test('a log that grows is rotated and kept within its bounds, and is read without a gap meanwhile', async () => {
  const world = await newWorld()
  const provider = await world.open({ log_retention: { days: 7, mb: 3 } })
  const wanted = await newWanted(provider, { size: 'shared' })
  await settle(provider, wanted)
  const client = await loginTo(provider, wanted)
  onTestFinished(() => client.end())
  let written = 0
  const write = async (count: number) => {
    const [first, last] = [written + 1, written + count]
    written = last
    const raise = `raise log 'entry % %', n, repeat('x', 1000)`
    await client.query(`do $$ begin for n in ${first}..${last} loop ${raise}; end loop; end $$`)
  }
  const folder = join(world.directory, 'services', wanted.service_id, 'log')
  const files = async () => (await readdir(folder)).filter((name) => name.endsWith('.json')).toSorted()
  const [oldest] = await files()

  for (let round = 0; round < 5; round += 1) {
    const count = (await files()).length
    await write(900)
    // Files are named by the second, so two cannot begin in the same.
    await until(async () => {
      await write(1)
      return (await files()).length > count
    })
  }
  const found: number[] = []
  let cursor: string | undefined
  do {
    const page = await provider.logs.page(wanted.service_id, {
      cursor,
      skip: 0,
      limit: 500,
      search: [],
      severities: [],
    })
    if (!('entries' in page)) throw new Error(JSON.stringify(page))
    for (const { message } of page.entries) found.push(Number(/^entry (\d+) /.exec(message)?.[1] ?? 0))
    cursor = page.cursor
    await write(100)
    await provider.service.apply(wanted)
  } while (cursor !== undefined)

  // Other entries, such as of logins, lie between.
  const numbers = found.filter((number) => number > 0)
  expect(numbers.length).toBeGreaterThan(500)
  expect(numbers).toEqual(numbers.map((_, at) => (numbers[0] ?? 0) - at))
  expect(await files()).not.toContain(oldest)
  let bytes = 0
  for (const name of (await files()).slice(0, -1)) bytes += (await stat(join(folder, name))).size
  expect(bytes).toBeLessThanOrEqual(3 * mib)
})
