// The request that a form sends, as it is typed: as JSON and as a line of curl.
import { useState } from 'react'
import { CodeBlock } from '../part/copy.tsx'
import { Segments } from '../part/field.tsx'
import { layout } from '../part/layout.tsx'

const forms = [
  { value: 'curl', label: 'curl' },
  { value: 'json', label: 'JSON' },
] as const

export function RequestPreview({ project_id, body }: { project_id: string; body: object }) {
  const [form, setForm] = useState<'curl' | 'json'>('curl')
  const json = JSON.stringify(body, null, 2)
  const curl = [
    `curl -sS "${location.origin}/public/api/v1/projects/${project_id}/services" \\`,
    `  -H "Authorization: Bearer $HOWDAH_TOKEN" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${json.replaceAll("'", String.raw`'\''`)}'`,
  ].join('\n')
  return (
    <div className={layout['stack']}>
      <Segments label="The same as a request" name="request" value={form} options={forms} onChange={setForm} />
      <CodeBlock label="The request" text={form === 'json' ? json : curl} wrap />
    </div>
  )
}
