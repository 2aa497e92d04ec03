// Bench: a service goes back to a moment a second ago, and back again: until it is READY, and for how long it takes no commit meanwhile,
// as a client sees it that tries again at once. And a deleted service comes back. `--gb 1,5` chooses the sizes, `--mount` the disk.
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { atMost, type Figure, medianOf, printFigures, spread, timed } from './figures.ts'
import { ask, newParent, type Parent, takeSnapshot, untilNoCopies } from './fork-parent.ts'
import { type Bench, withHowdah } from './howdah.ts'
import { inPlace } from './place.ts'

const retry_ms = 5
const rest_ms = 1_000

await inPlace(5, async ({ folder, description, runs, gb }) => {
  const figures: Figure[] = []
  const work = async (bench: Bench) => {
    for (const size of gb) figures.push(...(await figuresOf(bench, await newParent(bench, size), size, runs)))
  }
  // 5 GB and their WAL are more than a shared service may take.
  await withHowdah(join(folder, 'howdah'), work, { HOWDAH_DISK_QUOTA: '0' }, '1h')
  printFigures(`rewind, ${runs} runs on ${description}`, figures)
})

async function figuresOf(bench: Bench, parent: Parent, gb: number, runs: number): Promise<Figure[]> {
  const [there, back, silences, undeleted]: number[][] = [[], [], [], []]
  const { service_id } = parent
  const rewind = (verb: 'rewind' | 'undoRewind', body?: object) => async () => {
    await bench.post(service_id, verb, body)
    await bench.waitFor(service_id, 'READY', 'waiting')
  }
  for (let run = 0; run < runs; run += 1) {
    await takeSnapshot(bench, parent)
    await untilNoCopies(bench, parent)
    await pause(rest_ms)
    const target_time = new Date().toISOString()
    await ask(parent, 'update accounts set balance = balance + 1 where id = 1')
    const watching = watch(parent)
    there?.push(await timed(rewind('rewind', { target_time })))
    silences?.push(await watching.end())
    await untilNoCopies(bench, parent)
    await pause(rest_ms)
    back?.push(await timed(rewind('undoRewind')))
    await untilNoCopies(bench, parent)
  }
  for (let run = 0; run < runs; run += 1) {
    await bench.remove(service_id)
    await bench.waitFor(service_id, 'removed')
    undeleted?.push(
      await timed(async () => {
        await bench.restore(service_id)
        await bench.waitFor(service_id, 'READY', 'waiting')
      }),
    )
  }
  const figure = (what: string, values: readonly number[] = [], limit_ms?: number): Figure => ({
    what: `${what}, ${gb} GB`,
    ours: spread(values, 'ms'),
    ...(limit_ms !== undefined && { goal: atMost(limit_ms, medianOf(values), ' ms') }),
  })
  return [
    figure('rewind to a second ago', there, 2_000),
    figure('no commit meanwhile for', silences),
    figure('rewind undone', back, 2_000),
    figure('a deleted service is READY again', undeleted, 1_000),
  ]
}

/** The longest time between two commits of a client that reconnects at once. */
function watch(parent: Parent): { end(): Promise<number> } {
  const stop = new AbortController()
  let [last, longest] = [performance.now(), 0]
  const commits = async () => {
    while (!stop.signal.aborted) {
      const committed = await ask(parent, "select pg_logical_emit_message(true, 'bench', '')").catch(() => undefined)
      if (committed === undefined) {
        await pause(retry_ms)
        continue
      }
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }
  }
  const all = commits()
  return {
    end: async () => {
      stop.abort()
      await all
      return longest
    },
  }
}
