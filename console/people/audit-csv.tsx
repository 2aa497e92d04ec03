// What is shown of the audit log as a file.
import type { AuditEntry } from '#contract/audit.ts'
import { Button } from '../part/button.tsx'
import { saveFile } from '../part/save-file.ts'

export function CsvButton({ shown }: { shown: readonly AuditEntry[] }) {
  return (
    <Button
      icon="download"
      reason={shown.length === 0 ? 'there is nothing to keep' : undefined}
      onPress={() => saveFile('audit.csv', csvOf(shown), 'text/csv')}
    >
      CSV of what is shown
    </Button>
  )
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
