// The log of a service: words, severities, a range of time and a node in the address; older pages by cursor as it is scrolled.
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { type LogHistogram, log_severities } from '#contract/log.ts'
import { Button } from '../part/button.tsx'
import { SelectField, TextField } from '../part/field.tsx'
import { Empty, layout, Skeleton } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { saveFile } from '../part/save-file.ts'
import { read } from '../query.ts'
import { type Search, useView } from '../search.ts'
import { useService } from '../service/frame.tsx'
import { Histogram } from './histogram.tsx'
import { LogList } from './log-list.tsx'
import css from './logs.module.css'

const ranges = [
  { value: '15m', label: 'Last 15 minutes', ms: 900_000 },
  { value: '1h', label: 'Last hour', ms: 3_600_000 },
  { value: '6h', label: 'Last 6 hours', ms: 21_600_000 },
  { value: '24h', label: 'Last day', ms: 86_400_000 },
  { value: '7d', label: 'Last 7 days', ms: 604_800_000 },
  { value: 'all', label: 'All that is kept', ms: 0 },
] as const
/** Two moments of the address; a choice while they are there. */
const custom = { value: 'custom', label: 'From and until' } as const
const shown_severities = log_severities.filter((severity) => severity !== 'DEBUG' && severity !== 'INFO')
const follow_ms = 2_000
const count_ms = 10_000
/** Of a histogram over all that is kept. */
const longest_ms = 604_800_000
const entries_max = 5_000

export function Logs() {
  const { project_id, service_id, ha_replicas } = useService()
  const [view, setView] = useView()
  const live = view['live'] !== 'off'
  const pages = useInfiniteQuery({
    queryKey: ['getServiceLogs', service_id, view],
    queryFn: ({ pageParam }) =>
      read.getServiceLogs({
        project_id,
        service_id,
        query: { ...queryOf(view), ...(pageParam !== '' && { cursor: pageParam }) },
      }),
    initialPageParam: '',
    getNextPageParam: (last, all) => (all.length * 500 >= entries_max ? undefined : last.lastCursor),
    // With older pages on screen a refresh would ask for all of them again.
    refetchInterval: ({ state }) => (live && (state.data?.pages.length ?? 1) === 1 ? follow_ms : false),
  })
  const histogram = useHistogram(view, live)
  const entries = pages.data?.pages.flatMap((page) => page.entries ?? []) ?? []
  return (
    <div className={layout['stack']}>
      <Filters view={view} setView={setView} nodes={ha_replicas.replica_count + 1} counts={countsOf(histogram)} />
      {histogram !== undefined && (
        <Histogram
          histogram={histogram}
          severities={severitiesOf(view)}
          onRange={(from, to) => setView({ from, to, range: custom.value })}
        />
      )}
      <div className={layout['row']}>
        <Button small pressed={live} onPress={() => setView({ live: live ? 'off' : '' })}>
          {live ? 'Live' : 'Not live'}
        </Button>
        <Button
          small
          icon="download"
          onPress={() => saveFile('log.txt', textOf(entries))}
          reason={entries.length === 0 ? 'there is nothing to keep' : undefined}
        >
          Download what is shown
        </Button>
        <span className={layout['muted']} role="status">
          {entries.length} entries{pages.hasNextPage ? ', older ones follow' : ''}
        </span>
      </div>
      <Problem error={pages.error} onRetry={() => void pages.refetch()} />
      {pages.data === undefined && pages.error === null && <Skeleton lines={12} />}
      {pages.data !== undefined && entries.length === 0 && (
        <Empty title="No entry fits" text="Other words, severities or a longer range may." />
      )}
      {entries.length > 0 && (
        <LogList
          entries={entries}
          onEnd={() => {
            if (pages.hasNextPage && !pages.isFetching) void pages.fetchNextPage()
          }}
        />
      )}
    </div>
  )
}

function useHistogram(view: Search, live: boolean): LogHistogram | undefined {
  const { project_id, service_id, created } = useService()
  const { data } = useQuery({
    queryKey: ['getLogHistogram', service_id, { ...view, severity: '', live: '' }],
    queryFn: () => read.getLogHistogram({ project_id, service_id, query: histogramQueryOf(view, Date.parse(created)) }),
    refetchInterval: live ? count_ms : false,
    placeholderData: keepPreviousData,
  })
  return data
}

type FilterProps = {
  view: Search
  setView: (changes: Search) => void
  nodes: number
  counts: Readonly<Partial<Record<string, number>>>
}

function Filters({ view, setView, nodes, counts }: FilterProps) {
  const severities = severitiesOf(view)
  const toggle = (severity: string) => {
    const next = severities.includes(severity)
      ? severities.filter((one) => one !== severity)
      : [...severities, severity]
    setView({ severity: next.join(',') })
  }
  return (
    <>
      <div className={css['top']}>
        <div className={css['terms']}>
          <TextField
            label="Words, all of which must occur"
            type="search"
            value={view['q'] ?? ''}
            onChange={(text) => setView({ q: text })}
          />
        </div>
        <SelectField
          label="Range"
          value={view['range'] ?? 'all'}
          options={isCustom(view) ? [...ranges, custom] : ranges}
          onChange={(range) => setView({ range, from: '', to: '' })}
        />
        {isCustom(view) && (
          <>
            <TextField label="From" value={view['from'] ?? ''} onChange={(from) => setView({ from })} />
            <TextField label="Until" value={view['to'] ?? ''} onChange={(to) => setView({ to })} />
          </>
        )}
        {nodes > 1 && (
          <SelectField
            label="Node"
            value={view['node'] ?? ''}
            options={[
              { value: '', label: 'Primary' },
              ...Array.from({ length: nodes }, (_, node) => ({ value: String(node), label: `Node ${node}` })),
            ]}
            onChange={(node) => setView({ node })}
          />
        )}
      </div>
      <div className={css['severities']} role="group" aria-label="Severities">
        {shown_severities.map((severity) => (
          <Button
            key={severity}
            small
            pressed={severities.includes(severity)}
            kind={severities.includes(severity) ? 'primary' : 'plain'}
            onPress={() => toggle(severity)}
          >
            {counts[severity] === undefined ? severity : `${severity} ${inShort.format(counts[severity])}`}
          </Button>
        ))}
      </div>
    </>
  )
}

const inShort = new Intl.NumberFormat('en', { notation: 'compact' })

const severitiesOf = (view: Search) => (view['severity'] ?? '').split(',').filter((severity) => severity !== '')

const isCustom = (view: Search) => view['range'] === custom.value

const rangeOf = (view: Search) => ranges.find(({ value }) => value === view['range'])?.ms ?? 0

function queryOf(view: Search) {
  const severities = severitiesOf(view)
  const range = rangeOf(view)
  return {
    ...filtersOf(view),
    ...(severities.length > 0 && { severities }),
    ...(range > 0 && { since: new Date(Date.now() - range).toISOString() }),
  }
}

/** Of all severities, so that the toggles can say how many entries each has. */
function histogramQueryOf(view: Search, created_ms: number) {
  const now = Date.now()
  const since = new Date(Math.max(created_ms, now - (rangeOf(view) || longest_ms))).toISOString()
  return { since, until: new Date(now).toISOString(), ...filtersOf(view) }
}

function filtersOf(view: Search) {
  const search = (view['q'] ?? '')
    .split(/\s+/)
    .filter((word) => word !== '')
    .slice(0, 10)
  return {
    ...(search.length > 0 && { search }),
    ...(isCustom(view) && view['from'] && { since: view['from'] }),
    ...(isCustom(view) && view['to'] && { until: view['to'] }),
    ...(view['node'] && { node: Number(view['node']) }),
  }
}

function countsOf(histogram: LogHistogram | undefined): Partial<Record<string, number>> {
  const counts: Partial<Record<string, number>> = {}
  for (const bucket of histogram?.buckets ?? []) {
    for (const [severity, count] of Object.entries(bucket.counts)) counts[severity] = (counts[severity] ?? 0) + count
  }
  return counts
}

function textOf(entries: readonly { timestamp: string; severity: string; message: string }[]): string {
  return entries.map(({ timestamp, severity, message }) => `${timestamp} ${severity} ${message}\n`).join('')
}
