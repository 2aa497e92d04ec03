// Bench: how long a browser works for the console's pages: a key in the search of 1,000 services, a log that is scrolled over all rows that a
// page keeps, charts that are drawn anew; and how long a page takes until it can be used on a slow machine, against a bare React page with
// the same two requests in the same run. Needs chromium.
import type { CDPSession, Page } from 'playwright-core'
import pg from 'pg'
import { no_browser, startBrowser, type TestBrowser, type User } from '#test/console/browser.ts'
import { newLongProject } from '#test/console/long-project.ts'
import type { ReadyService } from '#test/installation.ts'
import { startBarePage } from './bare-page.ts'
import { type Figure, medianOf, printFigures, spread } from './figures.ts'
import { inPlace } from './place.ts'

const services = 1_000
const log_entries = 6_000
/** As many as a page keeps. */
const log_rows = 5_000
const key_ms_goal = 50
const task_ms_goal = 50
const chart_ms_goal = 100
/** What the console may take longer than the bare page. */
const interactive_ms_goal = 300
const slowed = 4

if (no_browser !== '') throw new Error(`no browser${no_browser}`)

await inPlace(10, async ({ runs }) => {
  const browser = await startBrowser()
  try {
    const user = await browser.newUser('owner')
    const devtools = await user.context.newCDPSession(user.page)
    // Processor time: what else the machine does is not counted.
    await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
    const project_id = await newLongProject(browser, user.person.user_id, services)
    const made = await browser.howdah.createService({ name: 'busy', cpu_millis: 'shared' })
    const figures = [
      await searchFigure(user, devtools, project_id),
      await scrollFigure(browser, user, devtools, made),
      await chartFigure(browser, user, devtools, made),
      ...(await interactiveFigures(browser, made, runs)),
    ]
    printFigures(`console, ${runs} runs`, figures)
  } finally {
    await browser.stop()
  }
})

async function searchFigure({ page, open }: User, devtools: CDPSession, project_id: string): Promise<Figure> {
  await open(`/projects/${project_id}/services`)
  await page.getByRole('link', { name: 'one-0001', exact: true }).waitFor()
  await page.getByLabel('Search services').focus()
  const times: number[] = []
  for (const key of 'one-0123')
    times.push(await spentMs(page, devtools, 'ScriptDuration', () => page.keyboard.press(key)))
  const worst = Math.max(...times)
  return {
    what: `script of a key in the search of ${services} services`,
    ours: spread(times, 'ms'),
    goal: { text: `each < ${key_ms_goal} ms`, reached: worst < key_ms_goal },
  }
}

async function scrollFigure(
  { howdah }: TestBrowser,
  { page, open }: User,
  devtools: CDPSession,
  made: ReadyService,
): Promise<Figure> {
  const login = { user: 'tsdbadmin', database: 'tsdb', password: made.initial_password }
  const client = new pg.Client({ ...made.endpoint, ...login, ssl: { rejectUnauthorized: false } })
  await client.connect()
  await client.query(`do $$ begin for n in 1..${log_entries} loop raise log 'line %', n; end loop; end $$`)
  await client.end()
  await open(`/projects/${howdah.project_id}/services/${made.service_id}/logs`)
  const list = page.getByRole('region', { name: 'Log entries, newest first' })
  await list.getByRole('button').first().waitFor()
  const count = async () =>
    Number(/^(\d+) entries/m.exec((await page.getByRole('status').allTextContents()).join('\n'))?.[1] ?? 0)
  for (let turn = 0; turn < 60 && (await count()) < log_rows; turn += 1) {
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight))
    await page.waitForTimeout(200)
  }
  const times: number[] = []
  const longestTask = await watchTasks(devtools)
  const screens = await list.evaluate((element) => Math.ceil(element.scrollHeight / element.clientHeight))
  for (let screen = 0; screen < screens; screen += 1) {
    const step = () => list.evaluate((element) => element.scrollBy(0, -element.clientHeight))
    times.push(await spentMs(page, devtools, 'TaskDuration', step))
  }
  const longest = await longestTask()
  return {
    what: `all work for a screen of a log of ${await count()} rows, scrolled from end to end; longest task ${longest.toFixed(0)} ms`,
    ours: spread(times, 'ms'),
    goal: { text: `no task > ${task_ms_goal} ms`, reached: longest <= task_ms_goal },
  }
}

async function chartFigure(
  { howdah, people }: TestBrowser,
  { page, open }: User,
  devtools: CDPSession,
  { service_id }: ReadyService,
): Promise<Figure> {
  await people.db.query(
    `insert into service_metrics (service_id, bucket_seconds, time, cpu_usage_millicores, memory_usage_bytes,
       disk_usage_bytes, disk_archive_bytes, connections, transactions_per_second, replication_lag_bytes, cache_hit_ratio)
     select $1, 60, date_bin('1 minute', now(), 'epoch') - n * interval '1 minute', 300 + 200 * sin(n / 30.0), 5e8 + n * 1e5,
       1e9 + n * 1e5, 1e8 + n * 1e4, 20 + n % 30, 50 + n % 70, n % 1000, 0.9 + (n % 100) / 1000.0
     from generate_series(2, 1400) n on conflict do nothing`,
    [service_id],
  )
  await open(`/projects/${howdah.project_id}/services/${service_id}/metrics?range=24h`)
  const charts = page.locator('canvas')
  await charts.nth(6).waitFor()
  await page.waitForTimeout(1_000)
  const times: number[] = []
  for (const fn of ['max', 'min', 'avg', 'max', 'min', 'avg']) {
    const work = async () => {
      await page.locator('label', { hasText: new RegExp(`^${fn}$`) }).click()
      await page.waitForTimeout(1_000)
    }
    times.push(await spentMs(page, devtools, 'ScriptDuration', work))
  }
  return {
    what: `script of ${await charts.count()} charts of a day that are read and drawn anew`,
    ours: spread(times, 'ms'),
    goal: { text: `< ${chart_ms_goal} ms`, reached: medianOf(times) < chart_ms_goal },
  }
}

async function interactiveFigures(browser: TestBrowser, { service_id }: ReadyService, runs: number): Promise<Figure[]> {
  const { howdah } = browser
  const bare = await startBarePage(howdah)
  const [floor, ours]: [Load[], Load[]] = [[], []]
  try {
    for (let run = 0; run < runs; run += 1) {
      const visitor = await browser.newVisitor()
      floor.push(await loadOf(visitor.page, bare.url, service_id))
      await visitor.context.close()
      const user = await browser.newUser('owner')
      ours.push(await loadOf(user.page, `${browser.url}${howdah.services}`, service_id))
      await user.context.close()
    }
  } finally {
    await bare.close()
  }
  const figureOf = (what: string, member: keyof Load): Figure => {
    const [theirs, own] = [floor, ours].map((loads) => loads.map((load) => load[member])) as [number[], number[]] // of both
    const more = medianOf(own) - medianOf(theirs)
    return {
      what,
      floor: spread(theirs, 'ms'),
      ours: spread(own, 'ms'),
      ratio: medianOf(own) / medianOf(theirs),
      goal: { text: `≤ ${interactive_ms_goal} ms more`, reached: more <= interactive_ms_goal },
    }
  }
  return [
    figureOf(`until the services are on screen, the processor slowed ${slowed} times, against a bare React page`, 'ms'),
    figureOf('processor time of the page until then, as slow', 'processor_ms'),
  ]
}

type Load = { ms: number; processor_ms: number }

/** From a request for the page until its list is there, in a browser that has seen nothing of it. */
async function loadOf(page: Page, url: string, service_id: string): Promise<Load> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: slowed })
  await page.goto(url, { waitUntil: 'commit' })
  // Looked for with every frame, at the same price on every page: a locator looks twice a second, and at every element.
  const found = await page.waitForFunction(
    (path) => document.querySelector(`a[href$="${path}"]`) && performance.now(),
    `/services/${service_id}`,
    { polling: 'raf' },
  )
  const ms = Number(await found.jsonValue())
  const { metrics } = await devtools.send('Performance.getMetrics')
  const seconds = metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0
  return { ms, processor_ms: seconds * 1000 }
}

type TraceEvent = { name: string; tid: number; pid: number; tdur?: number }

/** Returns what ends it and tells the processor time of the longest task since, of the thread that ran the page's scripts. */
async function watchTasks(devtools: CDPSession): Promise<() => Promise<number>> {
  const events: TraceEvent[] = []
  devtools.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown[] as TraceEvent[]))) // as the protocol says
  const traceConfig = { includedCategories: ['toplevel', 'devtools.timeline'] }
  await devtools.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig })
  return async () => {
    const complete = new Promise((resolve) => devtools.once('Tracing.tracingComplete', resolve))
    await devtools.send('Tracing.end')
    await complete
    const called = Object.groupBy(
      events.filter(({ name }) => name === 'FunctionCall'),
      ({ pid, tid }) => `${pid} ${tid}`,
    )
    const [most = []] = Object.values(called).toSorted((one, other) => (other?.length ?? 0) - (one?.length ?? 0))
    const isOfPage = ({ pid, tid }: TraceEvent) => pid === most[0]?.pid && tid === most[0].tid
    const tasks = events.filter((event) => event.name.endsWith('RunTask') && isOfPage(event))
    const times = tasks.flatMap(({ tdur }) => tdur ?? [])
    if (times.length === 0) throw new Error('the trace has no task with its processor time')
    return Math.max(...times) / 1000
  }
}

/** Processor time of the page, of scripts or of everything, until it was at rest again. */
async function spentMs(
  page: Page,
  devtools: CDPSession,
  on: 'ScriptDuration' | 'TaskDuration',
  work: () => Promise<unknown>,
): Promise<number> {
  const spent = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics')
    return (metrics.find(({ name }) => name === on)?.value ?? 0) * 1000
  }
  const before = await spent()
  await work()
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 20))))
  return (await spent()) - before
}
