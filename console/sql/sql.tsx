// One statement at a time in a service, without its password: in a transaction that only reads, unless the user switches to writing.
import { useState } from 'react'
import { useQuery } from '@tanstack/react-query'
import type { query_modes } from '#contract/query.ts'
import type { Service } from '#contract/service.ts'
import { useMay } from '../may.ts'
import { Button } from '../part/button.tsx'
import { Confirm } from '../part/confirm.tsx'
import { Segments } from '../part/field.tsx'
import { layout } from '../part/layout.tsx'
import { Note, Problem } from '../part/problem.tsx'
import { q, useAct } from '../query.ts'
import { useService } from '../service/frame.tsx'
import { Result } from './result.tsx'
import css from './sql.module.css'
import { keepWritten, type Written, writtenFor } from './written.ts'

type Mode = (typeof query_modes)[number]
type Asked = { text: string; explained: boolean }

const first_statement = `select schemaname, relname, n_live_tup, pg_size_pretty(pg_total_relation_size(relid)) as size
from pg_stat_user_tables order by pg_total_relation_size(relid) desc`
const modes = [
  { value: 'read', label: 'Read' },
  { value: 'write', label: 'Write' },
] as const
const earlier_max = 20

export function Sql() {
  const service = useService()
  const { project_id, service_id } = service
  const [{ text, earlier }, write] = useWritten(service_id)
  const setText = (next: string) => write({ text: next, earlier })
  const { mode, change, asking } = useMode(service)
  const { mutate, isPending, error, data } = useAct('runQuery')
  const reason = useReason(service) ?? (text.trim() === '' ? 'there is no statement' : undefined)
  const run = ({ text, explained }: Asked) => {
    const query = explained ? `explain ${text}` : text
    write({ text, earlier: [text, ...earlier.filter((one) => one !== text)].slice(0, earlier_max) })
    mutate({ project_id, service_id, body: { query, mode: explained ? 'read' : mode } })
  }
  return (
    <div className={layout['stack']}>
      <form
        className={`${layout['stack']} ${mode === 'write' ? css['writes'] : ''}`}
        onSubmit={(event) => {
          event.preventDefault()
          if (reason === undefined && !isPending) run({ text, explained: false })
        }}
      >
        <textarea
          className={css['statement']}
          aria-label="Statement"
          spellCheck={false}
          rows={Math.min(16, Math.max(5, text.split('\n').length + 1))}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit()
          }}
        />
        <div className={`${layout['row']} ${layout['rowend']}`}>
          <Button type="submit" kind={mode === 'write' ? 'danger' : 'primary'} reason={reason} pending={isPending}>
            Run (Ctrl ⏎)
          </Button>
          <Button reason={reason} onPress={() => run({ text, explained: true })}>
            Explain
          </Button>
          <Segments label="Mode" hide_label name="mode" value={mode} options={modes} onChange={change} />
          <Earlier statements={earlier} onChoose={setText} />
        </div>
      </form>
      {mode === 'write' && <Note warn>What a statement changes is committed. Try it on a fork first.</Note>}
      <Problem error={error} />
      {data !== undefined && <Result result={data} />}
      {asking}
    </div>
  )
}

function useWritten(service_id: string): [Written, (now: Written) => void] {
  const [written, setWritten] = useState(() => writtenFor(service_id) ?? { text: first_statement, earlier: [] })
  return [
    written,
    (now) => {
      setWritten(now)
      keepWritten(service_id, now)
    },
  ]
}

/** Why no statement can be run here. */
function useReason(service: Service): string | undefined {
  const { data } = useQuery(q('getCapabilities', {}))
  const may = useMay(service.project_id, service.status)
  const offer = data?.regions.find(({ code }) => code === service.region_code)?.features.queries
  return may('runQuery') ?? (offer?.offered === false ? offer.reason : undefined)
}

/** Writing to a PROD service is asked for, once for each visit. */
function useMode(service: Service) {
  const [mode, setMode] = useState<Mode>('read')
  const [is_asking, setAsking] = useState(false)
  const is_prod = service.metadata.environment === 'PROD'
  const close = () => setAsking(false)
  return {
    mode,
    change: (wanted: Mode) => (wanted === 'write' && is_prod ? setAsking(true) : setMode(wanted)),
    asking: is_asking && (
      <Confirm
        confirmation={{
          title: `Write to ${service.name}?`,
          button: 'Write',
          lines: ['What a statement changes is committed at once.', 'A fork is the place to try it.'],
          typed: service.name,
        }}
        pending={false}
        error={null}
        onConfirm={() => {
          setMode('write')
          close()
        }}
        onClose={close}
      />
    ),
  }
}

function Earlier({ statements, onChoose }: { statements: readonly string[]; onChoose: (text: string) => void }) {
  if (statements.length === 0) return null
  return (
    <select
      className={css['earlier']}
      aria-label="Earlier statements"
      value=""
      onChange={({ target }) => onChoose(target.value)}
    >
      <option value="">Earlier statements</option>
      {statements.map((statement) => (
        <option key={statement} value={statement}>
          {statement.replaceAll(/\s+/g, ' ').slice(0, 80)}
        </option>
      ))}
    </select>
  )
}
