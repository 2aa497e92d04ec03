// The audit log of a project: every request that wanted to change something, newest first, older ones by cursor.
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import type { AuditEntry } from '#contract/audit.ts'
import { useMay } from '../may.ts'
import { Button } from '../part/button.tsx'
import { CopyIcon } from '../part/copy.tsx'
import { Empty, Page, Skeleton } from '../part/layout.tsx'
import { Problem } from '../part/problem.tsx'
import { type Column, Table } from '../part/table.tsx'
import { Time } from '../part/time.tsx'
import { read } from '../query.ts'
import { useView } from '../search.ts'
import { CsvButton } from './audit-csv.tsx'
import { Filters, filterOf } from './audit-filters.tsx'
import css from './people.module.css'

const page_entries = 100
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
  {
    label: 'From',
    nowrap: true,
    cell: ({ address, request_id }) => (
      <span className={css['who']}>
        <code>{address}</code>
        <CopyIcon text={request_id} what="the id of the request" />
      </span>
    ),
  },
]

export function Audit() {
  const { project_id = '' } = useParams({ strict: false })
  const reason = useMay(project_id)('listAudit')
  const [view, setView] = useView()
  const pages = useInfiniteQuery({
    queryKey: ['listAudit', project_id, view],
    queryFn: ({ pageParam }) =>
      read.listAudit({
        project_id,
        query: { ...filterOf(view), limit: page_entries, ...(pageParam !== '' && { cursor: pageParam }) },
      }),
    initialPageParam: '',
    getNextPageParam: ({ last_cursor }) => last_cursor,
    enabled: reason === undefined,
    placeholderData: keepPreviousData,
  })
  const shown = pages.data?.pages.flatMap(({ entries }) => entries) ?? []
  return (
    <Page title="Audit" actions={reason === undefined && <CsvButton shown={shown} />}>
      {reason === undefined ? (
        <Filters view={view} setView={setView} shown={shown} />
      ) : (
        <Empty title="The audit log is for administrators" text={reason} />
      )}
      <Problem error={pages.error} onRetry={() => void pages.refetch()} />
      {pages.isLoading && <Skeleton lines={8} />}
      {pages.data !== undefined && shown.length === 0 && (
        <Empty title="No entry fits" text="Other filters, or a longer time, may find some.">
          <Button onPress={() => setView({ who: '', what: '', outcome: '', id: '', range: '' })}>
            Clear the filters
          </Button>
        </Empty>
      )}
      {shown.length > 0 && <Table label="Audit log" rows={shown} keyOf={({ id }) => id} columns={columns} />}
      {pages.hasNextPage && (
        <div>
          <Button pending={pages.isFetchingNextPage} onPress={() => void pages.fetchNextPage()}>
            Older entries
          </Button>
        </div>
      )}
    </Page>
  )
}
