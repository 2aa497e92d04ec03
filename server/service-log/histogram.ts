// How much was logged when: the pages of a log counted by time and severity, newest first, up to a bound.
import { log_counted_max, type LogHistogram } from '#contract/log.ts'
import type { LogEntry, LogPage, LogQuery } from '#providers/log.ts'
import type { Buckets } from './rules.ts'

export async function readHistogram(
  read: (query: LogQuery) => Promise<LogPage>,
  query: LogQuery,
  buckets: Buckets,
): Promise<LogHistogram> {
  const histogram = newHistogram(buckets)
  let [page, counted] = [await read(query), 0]
  for (;;) {
    for (const entry of page.entries) histogram.add(entry)
    counted += page.entries.length
    const { cursor } = page
    const partial = cursor !== undefined && counted >= log_counted_max
    if (cursor === undefined || partial) return { buckets: histogram.list(), partial }
    page = await read({ ...query, cursor })
  }
}

function newHistogram({ from_ms, to_ms, count }: Buckets) {
  const length_ms = (to_ms - from_ms) / count
  const counts = Array.from({ length: count }, () => new Map<string, number>())
  return {
    add({ timestamp, severity }: LogEntry) {
      const bucket = counts[Math.min(Math.floor((Date.parse(timestamp) - from_ms) / length_ms), count - 1)]
      bucket?.set(severity, (bucket.get(severity) ?? 0) + 1)
    },
    list: () =>
      counts.map((bucket, at) => ({
        time: new Date(Math.round(from_ms + at * length_ms)).toISOString(),
        counts: Object.fromEntries(bucket),
      })),
  }
}
