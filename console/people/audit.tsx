// The audit log of a project: every request that wanted to change something, newest first, older ones by cursor.
import { useInfiniteQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import type { AuditEntry } from '#contract/audit.ts'
import { useMay } from '../may.ts'
import { Button } from '../part/button.tsx'
import { SelectField, TextField } from '../part/field.tsx'
import { Empty, layout, Page, Skeleton } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { saveFile } from '../part/save-file.ts'
import { type Column, Table } from '../part/table.tsx'
import { Time } from '../part/time.tsx'
import { read } from '../query.ts'
import { type Search, useView } from '../search.ts'
import css from './people.module.css'

const page_entries = 100
const outcomes = [
  { value: '', label: 'Every outcome' },
  { value: 'done', label: 'Done' },
  { value: 'refused', label: 'Refused' },
] as const

const columns: readonly Column<AuditEntry>[] = [
  {
    label: 'What',
    cell: ({ endpoint, method, path }) => (
      <span>
        {endpoint}
        <code className={css['sub']}>{`${method} ${path.replace(/^\/projects\/\w+/, '')}`}</code>
      </span>
    ),
  },
  {
    label: 'Who',
    cell: ({ email, public_key }) => (
      <span>
        {email}
        {public_key !== undefined && <code className={css['sub']}>token {public_key}</code>}
      </span>
    ),
  },
  { label: 'When', nowrap: true, cell: ({ time }) => <Time value={time} /> },
  {
    label: 'Outcome',
    cell: ({ status, code }) => (
      <span className={code === undefined ? undefined : css['bad']}>
        {code === undefined ? status : `${status} ${code}`}
      </span>
    ),
  },
  { label: 'From', cell: ({ address }) => <code>{address}</code> },
]

export function Audit() {
  const { project_id = '' } = useParams({ strict: false })
  const reason = useMay(project_id)('listAudit')
  const [view, setView] = useView()
  const pages = useInfiniteQuery({
    queryKey: ['listAudit', project_id],
    queryFn: ({ pageParam }) =>
      read.listAudit({ project_id, query: { limit: page_entries, ...(pageParam !== '' && { cursor: pageParam }) } }),
    initialPageParam: '',
    getNextPageParam: ({ last_cursor }) => last_cursor,
    enabled: reason === undefined,
  })
  const all = pages.data?.pages.flatMap(({ entries }) => entries) ?? []
  const shown = all.filter((entry) => matches(entry, view))
  return (
    <Page title="Audit">
      {reason !== undefined && <Empty title="The audit log is for administrators" text={reason} />}
      <div className={`${layout['row']} ${layout['rowend']}`}>
        <TextField
          label="Who, what or where"
          type="search"
          value={view['q'] ?? ''}
          onChange={(text) => setView({ q: text })}
        />
        <SelectField
          label="Outcome"
          value={view['outcome'] ?? ''}
          options={outcomes}
          onChange={(outcome) => setView({ outcome })}
        />
        <Button
          icon="download"
          reason={shown.length === 0 ? 'there is nothing to keep' : undefined}
          onPress={() => saveFile('audit.csv', csvOf(shown), 'text/csv')}
        >
          CSV of what is shown
        </Button>
      </div>
      <Problem error={pages.error} onRetry={() => void pages.refetch()} />
      {pages.isLoading && <Skeleton lines={8} />}
      {pages.data !== undefined && shown.length === 0 && (
        <Empty title="No entry fits" text="Other words may, or older entries." />
      )}
      {shown.length > 0 && <Table label="Audit log" rows={shown} keyOf={({ id }) => id} columns={columns} />}
      {pages.hasNextPage && (
        <Button pending={pages.isFetchingNextPage} onPress={() => void pages.fetchNextPage()}>
          Older entries
        </Button>
      )}
    </Page>
  )
}

function matches(entry: AuditEntry, { q: text = '', outcome = '' }: Search): boolean {
  const words = `${entry.email} ${entry.public_key ?? ''} ${entry.endpoint} ${entry.path} ${entry.address} ${entry.request_id}`
  const is_done = entry.code === undefined
  return words.toLowerCase().includes(text.toLowerCase()) && (outcome === '' || (outcome === 'done') === is_done)
}

function csvOf(entries: readonly AuditEntry[]): string {
  const names = [
    'time',
    'email',
    'public_key',
    'endpoint',
    'method',
    'path',
    'status',
    'code',
    'address',
    'request_id',
  ] as const
  const cell = (value: string | number | undefined) => `"${String(value ?? '').replaceAll('"', '""')}"`
  return [names.join(','), ...entries.map((entry) => names.map((name) => cell(entry[name])).join(','))].join('\n')
}
