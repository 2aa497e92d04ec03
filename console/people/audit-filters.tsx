// What is shown of the audit log: who, what, about which thing, how it ended and since when. The server looks through all of the log.
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { api } from '#contract/api.ts'
import { type AuditEntry, audit_outcomes } from '#contract/audit.ts'
import { effectOf } from '#contract/command.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import { SelectField, TextField } from '../part/field.tsx'
import { layout } from '../part/layout.tsx'
import { ranges } from '../part/range.ts'
import { q } from '../query.ts'
import type { Search } from '../search.ts'
import { userOptions } from './audit-users.ts'

const outcomes = [
  { value: '', label: 'Every outcome' },
  { value: 'done', label: 'Done' },
  { value: 'refused', label: 'Refused' },
] as const
const acts = [
  { value: '', label: 'Every act' },
  ...Object.entries<Endpoint>(api)
    .filter(([, endpoint]) => effectOf(endpoint) !== 'read')
    .map(([name]) => name)
    .concat('login', 'disableUser', 'enableUser', 'resetPassword')
    .toSorted()
    .map((name) => ({ value: name, label: name })),
]
const times = [{ value: '', label: 'All' }, ...ranges.map(({ value, label }) => ({ value, label: `Last ${label}` }))]
/** So that entries of one page and those of the next have the same beginning. */
const since_step_ms = 60_000

export function filterOf({ who, what, outcome = '', id = '', range }: Search) {
  const ms = ranges.find(({ value }) => value === range)?.ms
  const since = ms === undefined ? undefined : Math.floor((Date.now() - ms) / since_step_ms) * since_step_ms
  const known = audit_outcomes.find((one) => one === outcome)
  return {
    ...(who && { user_id: who }),
    ...(what && { endpoint: what }),
    ...(known && { outcome: known }),
    ...(id.trim() !== '' && { resource_id: id.trim() }),
    ...(since !== undefined && { since: new Date(since).toISOString() }),
  }
}

type Props = { view: Search; setView: (changes: Search) => void; shown: readonly AuditEntry[] }

export function Filters({ view, setView, shown }: Props) {
  const { project_id = '' } = useParams({ strict: false })
  const { data: members = [] } = useQuery(q('listMembers', { project_id }))
  return (
    <div className={`${layout['row']} ${layout['rowend']}`} role="search">
      <SelectField
        label="Who"
        value={view['who'] ?? ''}
        options={userOptions(members, shown)}
        onChange={(who) => setView({ who })}
      />
      <SelectField label="What" value={view['what'] ?? ''} options={acts} onChange={(what) => setView({ what })} />
      <TextField
        label="Id of the thing"
        type="search"
        mono
        value={view['id'] ?? ''}
        onChange={(id) => setView({ id })}
      />
      <SelectField
        label="Outcome"
        value={view['outcome'] ?? ''}
        options={outcomes}
        onChange={(outcome) => setView({ outcome })}
      />
      <SelectField label="Time" value={view['range'] ?? ''} options={times} onChange={(range) => setView({ range })} />
    </div>
  )
}
