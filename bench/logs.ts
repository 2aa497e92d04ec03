// Bench: pages of a gigabyte of log by the API: the newest, by cursor at any depth, by time, by a rare term; and memory.
// Floors: tail and ripgrep on the same files. All of them take turns, with the files in the page cache. `--full`: ten
// million entries instead of a gigabyte, and no searches, which stop before the end of so much.
import { execFile } from 'node:child_process'
import { chownSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { atMost, type Figure, medianOf, printFigures, spread, timed } from './figures.ts'
import { type Bench, withHowdah } from './howdah.ts'
import { type LogFiles, rare_term, writeLogFiles } from './log-files.ts'
import { inPlace } from './place.ts'
import { memoryMbOf } from './processor.ts'

type Page = { logs: string[]; entries: { timestamp: string }[]; lastCursor?: string }

const full = process.argv.includes('--full')
if (full) process.argv.splice(process.argv.indexOf('--full'), 1)
const bytes = full ? 4.4 * 1024 ** 3 : 1024 ** 3
const deep_page = full ? 10_000 : 4_000
const newest_ms_goal = 10
const growth_mb_goal = 64
/** The server must not tidy up what the bench wrote. */
const env = { HOWDAH_LOG_RETENTION: '3650d,100000MB' }
const execute = promisify(execFile)

await inPlace(15, async ({ folder, description, runs }) => {
  await withHowdah(
    join(folder, 'howdah'),
    async (bench) => {
      const { service_id } = await bench.createService('logs')
      await bench.waitFor(service_id, 'READY')
      // A stopped service writes nothing between two measurements.
      await bench.post(service_id, 'stop')
      await bench.waitFor(service_id, 'PAUSED')
      const log = join(bench.data_dir, 'local', 'services', service_id, 'log')
      const written = writeLogFiles(log, bytes)
      const { uid, gid } = statSync(log)
      for (const file of written.files) chownSync(file, uid, gid)
      const read = (query: string) => readPage(bench, service_id, query)
      const size = `${(bytes / 1024 ** 3).toFixed(1)} GB, ${written.lines} entries`
      printFigures(`logs, ${size}, ${runs} runs on ${description}`, [
        ...(await pageFigures(read, written, runs)),
        await memoryFigure(bench.pid, read),
        ...(full ? [] : await searchFigures(read, log, runs)),
      ])
    },
    env,
  )
})

type Read = (query: string) => Promise<Page>

async function readPage(bench: Bench, service_id: string, query: string): Promise<Page> {
  const url = `${bench.url}/projects/${bench.project_id}/services/${service_id}/logs?${query}`
  const answer = await fetch(url, { headers: { authorization: `Bearer ${bench.token}` } })
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
  // The server's answers are checked against the contract by its tests; a bench believes them.
  return (await answer.json()) as Page
}

async function pageFigures(read: Read, written: LogFiles, runs: number): Promise<Figure[]> {
  const { cursors, entries } = await follow(read, written.last_ms)
  const middle = new Date((written.first_ms + written.last_ms) / 2).toISOString()
  const newest_file = written.files.at(-1) ?? ''
  const [tail = [], newest = [], tenth = [], deep = [], until = []] = await takingTurns(runs, [
    () => execute('tail', ['-n', '500', newest_file], { maxBuffer: 64 * 1024 ** 2 }),
    () => read(''),
    () => read(`cursor=${cursors.get(9)}`),
    () => read(`cursor=${cursors.get(deep_page - 1)}`),
    () => read(`until=${middle}`),
  ])
  const figure = (what: string, floor: number[], ours: number[], limit: number): Figure => {
    const ratio = medianOf(ours) / medianOf(floor)
    return { what, floor: spread(floor, 'ms'), ours: spread(ours, 'ms'), ratio, goal: atMost(limit, ratio) }
  }
  return [
    figure('newest page, against tail -n 500', tail, newest, 2),
    {
      what: 'newest page',
      ours: spread(newest, 'ms'),
      goal: atMost(newest_ms_goal, medianOf(newest), ' ms'),
    },
    figure(`page ${deep_page}, against page 10`, tenth, deep, 1.2),
    figure('until in the middle, against newest', newest, until, 2),
    {
      what: 'followed by cursor to the end',
      ours: `${entries} entries`,
      goal: { text: `${written.lines}, none twice`, reached: entries === written.lines },
    },
  ]
}

/** The times of each; their order changes with each run. */
async function takingTurns(runs: number, works: readonly (() => Promise<unknown>)[]): Promise<number[][]> {
  const times = works.map((): number[] => [])
  for (let run = 0; run < runs; run += 1) {
    const step = 1 + (run % (works.length - 1))
    for (let turn = 0; turn < works.length; turn += 1) {
      const at = (run + turn * step) % works.length
      const work = works[at]
      if (work) times[at]?.push(await timed(work))
    }
  }
  return times
}

/** Every page from the newest to the oldest: each entry once, in order; the cursors of the pages that are read again. */
async function follow(read: Read, last_ms: number): Promise<{ cursors: Map<number, string>; entries: number }> {
  const cursors = new Map<number, string>()
  let entries = 0
  let last = ''
  // Without what the service itself wrote, which is newer.
  let page = await read(`until=${new Date(last_ms + 1).toISOString()}`)
  for (let at = 0; ; at += 1) {
    const times = page.entries.map(({ timestamp }) => timestamp)
    for (const time of times) {
      // Times of the generated log are all different.
      if (last !== '' && time >= last) throw new Error(`${time} comes after ${last}`)
      last = time
    }
    entries += times.length
    if (page.lastCursor === undefined) return { cursors, entries }
    if (at === 8 || at === deep_page - 2) cursors.set(at + 1, page.lastCursor)
    page = await read(`cursor=${page.lastCursor}`)
  }
}

async function searchFigures(read: Read, log: string, runs: number): Promise<Figure[]> {
  const searches: [what: string, term: string, options: string[]][] = [
    ['rare term, any case, against rg -i', rare_term.toLowerCase(), ['-i', '-F', '-c']],
    ['absent term of common letters, against rg -i', 'nationalities', ['-i', '-F', '-c']],
  ]
  const figures: Figure[] = []
  for (const [what, term, options] of searches) {
    const floor: number[] = []
    const ours: number[] = []
    for (let run = 0; run < runs; run += 1) {
      // Without a hit ripgrep's exit code is 1, which is no failure.
      floor.push(await timed(() => execute('rg', [...options, term, log]).catch(unlessMissing)))
      ours.push(await timed(() => read(`search=${term}`)))
    }
    const ratio = medianOf(ours) / medianOf(floor)
    figures.push({ what, floor: spread(floor, 'ms'), ours: spread(ours, 'ms'), ratio, goal: atMost(2, ratio) })
  }
  return figures
}

function unlessMissing(error: unknown): void {
  if (error instanceof Error && 'code' in error && error.code === 1) return
  throw new Error('this bench compares with ripgrep: apt-get install ripgrep', { cause: error })
}

/** The most by which the server's memory rises above what it had, over queries of every kind. */
async function memoryFigure(pid: number, read: Read): Promise<Figure> {
  const queries = ['', 'page=19', 'severities=ERROR', 'severities=PANIC', 'search=ΣΊΣΥΦΟΣ', 'search=nationalities']
  let growth = 0
  for (const query of queries) {
    const before = memoryMbOf(pid)
    resetPeak(pid)
    await read(query)
    growth = Math.max(growth, memoryMbOf(pid, 'VmHWM') - before)
  }
  return {
    what: 'server memory above its level, any query',
    ours: `${growth.toFixed(0)} MB`,
    goal: atMost(growth_mb_goal, growth, ' MB'),
  }
}

function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}
