// The log of a service: texts, severities, a range of time and a node in the address; older pages by cursor as it is scrolled, new
// entries as they are written.
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { LogEntry, LogHistogram } from '#contract/log.ts'
import type { Service } from '#contract/service.ts'
import { count } from '../part/amount.ts'
import { Button } from '../part/button.tsx'
import { SelectField, TextField } from '../part/field.tsx'
import { Empty, layout, Skeleton } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { saveFile } from '../part/save-file.ts'
import { read } from '../query.ts'
import { type Search, stringifySearch, useView } from '../search.ts'
import { useService } from '../service/frame.tsx'
import { readLogs, useEntries } from './entries.ts'
import { Histogram } from './histogram.tsx'
import { LogList } from './log-list.tsx'
import css from './logs.module.css'
import { Terms } from './terms.tsx'
import {
  countsOf,
  custom,
  histogramQueryOf,
  isCustom,
  log_ranges,
  queryOf,
  severitiesOf,
  shown_severities,
} from './query.ts'

const count_ms = 10_000
const kept_lines_max = 100_000
const around_ms = 120_000

export function Logs() {
  const service = useService()
  const { project_id, service_id } = service
  const [view, setView] = useView()
  const live = view['live'] !== 'off' && !isCustom(view)
  const [asked, setAsked] = useState(0)
  const { pages, entries, waiting, show, setAtTop } = useEntries({ project_id, service_id }, view, live)
  // Only services are counted.
  const counted = useHistogram(view, live)
  const histogram = view['set'] ? undefined : counted
  const showNew = () => {
    show()
    setAsked(asked + 1)
  }
  return (
    <div className={layout['stack']}>
      <Filters view={view} setView={setView} sources={sourcesOf(service)} counts={countsOf(histogram)} />
      {histogram !== undefined && (
        <Histogram
          histogram={histogram}
          severities={severitiesOf(view)}
          onRange={(from, to) => setView({ from, to, range: custom.value })}
        />
      )}
      <div className={layout['row']}>
        <LiveSwitch {...{ view, setView, live }} />
        <Download view={view} is_empty={entries.length === 0} />
        <span className={layout['muted']} role="status">
          {count(entries.length, 'entry', 'entries')}
          {pages.hasNextPage ? ', older ones follow' : ''}
        </span>
        {waiting > 0 && (
          <Button small kind="primary" onPress={showNew}>
            {waiting} new ↑
          </Button>
        )}
      </div>
      <Problem error={pages.error} onRetry={() => void pages.refetch()} />
      {pages.data === undefined && pages.error === null && <Skeleton lines={12} />}
      {pages.data !== undefined && entries.length === 0 && (
        <Empty title="No entry fits" text="Other texts, severities or a longer range may." />
      )}
      {entries.length > 0 && (
        <LogList
          entries={entries}
          onAround={(timestamp) => setView(around(timestamp))}
          onProcess={(pid) => setView({ pid: String(pid), q: '', severity: '', entry: '' })}
          linkTo={({ id, timestamp }) =>
            `${location.origin}${location.pathname}${stringifySearch({ ...view, ...around(timestamp), entry: id })}`
          }
          sought={view['entry']}
          onTop={setAtTop}
          asked={asked}
          onEnd={() => {
            if (pages.hasNextPage && !pages.isFetching) void pages.fetchNextPage()
          }}
        />
      )}
    </div>
  )
}

/** Everything within two minutes of a moment. */
function around(timestamp: string): Search {
  const at = Date.parse(timestamp)
  const [from, to] = [new Date(at - around_ms), new Date(at + around_ms)].map((moment) => moment.toISOString())
  return { from, to, range: custom.value, q: '', severity: '', pid: '', entry: '' }
}

type LiveProps = { view: Search; setView: (changes: Search) => void; live: boolean }

const LiveSwitch = ({ view, setView, live }: LiveProps) => (
  <Button
    small
    pressed={live}
    reason={isCustom(view) ? 'this range has an end' : undefined}
    onPress={() => setView({ live: live ? 'off' : '' })}
  >
    {live ? 'Live' : 'Not live'}
  </Button>
)

function useHistogram(view: Search, live: boolean): LogHistogram | undefined {
  const { project_id, service_id, created } = useService()
  const { data } = useQuery({
    queryKey: ['getLogHistogram', service_id, { ...view, severity: '', live: '', entry: '' }],
    queryFn: ({ signal }) => {
      const query = histogramQueryOf(view, Date.parse(created))
      return read.getLogHistogram({ project_id, service_id, query, signal })
    },
    refetchInterval: live ? count_ms : false,
    placeholderData: keepPreviousData,
  })
  return data
}

type FilterProps = {
  view: Search
  setView: (changes: Search) => void
  sources: readonly { value: string; label: string }[]
  counts: Readonly<Partial<Record<string, number>>>
}

function Filters({ view, setView, sources, counts }: FilterProps) {
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
          <Terms view={view} setView={setView} />
        </div>
        <SelectField
          label="Range"
          value={view['range'] ?? 'all'}
          options={isCustom(view) ? [...log_ranges, custom] : log_ranges}
          onChange={(range) => setView({ range, from: '', to: '' })}
        />
        {isCustom(view) && (
          <>
            <TextField label="From" value={view['from'] ?? ''} onChange={(from) => setView({ from })} />
            <TextField label="Until" value={view['to'] ?? ''} onChange={(to) => setView({ to })} />
          </>
        )}
        {sources.length > 1 && (
          <SelectField
            label="Node"
            value={`${view['set'] ?? ''}/${view['node'] ?? ''}`}
            options={sources}
            onChange={(source) => {
              const [set, node] = source.split('/')
              setView({ set, node })
            }}
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

/** The nodes whose logs there are, as `<set>/<node>`. */
function sourcesOf({ ha_replicas, read_replica_sets }: Service) {
  const nodes = (set: string, count: number, name: string) =>
    Array.from({ length: count }, (_, node) => ({ value: `${set}/${node}`, label: `${name} ${node}` }))
  const own = ha_replicas.replica_count === 0 ? [] : nodes('', ha_replicas.replica_count + 1, 'Node')
  return [
    { value: '/', label: 'Primary' },
    ...own,
    ...read_replica_sets.flatMap(({ id, name, nodes: count }) => nodes(id, count, `${name}, node`)),
  ]
}

const inShort = new Intl.NumberFormat('en', { notation: 'compact' })

/** All that fits, page by page. */
function Download({ view, is_empty }: { view: Search; is_empty: boolean }) {
  const { project_id, service_id, name } = useService()
  const [read_entries, setRead] = useState<number>()
  const [error, setError] = useState<unknown>()
  const keep = async () => {
    const entries: LogEntry[] = []
    let cursor: string | undefined
    do {
      setRead(entries.length)
      const query = { ...queryOf(view), ...(cursor !== undefined && { cursor }) }
      const page = await readLogs({ project_id, service_id }, view, query)
      entries.push(...(page.entries ?? []))
      cursor = page.last_cursor
    } while (cursor !== undefined && entries.length < kept_lines_max)
    const cut = cursor === undefined ? '' : `# older entries are left out: a file has at most ${kept_lines_max}\n`
    saveFile(`${name}-log.txt`, cut + textOf(entries.toReversed()))
  }
  return (
    <>
      <Button
        small
        icon="download"
        pending={read_entries !== undefined}
        reason={is_empty ? 'there is nothing to keep' : undefined}
        onPress={() => {
          setError(undefined)
          void keep()
            .catch(setError)
            .finally(() => setRead(undefined))
        }}
      >
        {read_entries === undefined ? 'Download' : `${read_entries} entries`}
      </Button>
      <Problem error={error instanceof Error ? error : null} />
    </>
  )
}

function textOf(entries: readonly LogEntry[]): string {
  return entries.map(({ timestamp, severity, message }) => `${timestamp} ${severity} ${message}\n`).join('')
}
