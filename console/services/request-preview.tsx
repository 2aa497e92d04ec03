// The request that a form sends, as it is typed: as a command, as a line of curl and as JSON.
import { useState } from 'react'
import { CodeBlock } from '../part/copy.tsx'
import { Segments } from '../part/field.tsx'
import { layout } from '../part/layout.tsx'
import { createCommand, quoted } from './command.ts'

const forms = [
  { value: 'howdah', label: 'howdah' },
  { value: 'curl', label: 'curl' },
  { value: 'json', label: 'JSON' },
] as const
type Form = (typeof forms)[number]['value']

type PreviewProps = { project_id: string; body: Parameters<typeof createCommand>[1] }

export function RequestPreview({ project_id, body }: PreviewProps) {
  const [form, setForm] = useState<Form>('howdah')
  const json = JSON.stringify(body, null, 2)
  const texts: Record<Form, string> = {
    howdah: createCommand(project_id, body),
    curl: [
      `curl -sS "${location.origin}/public/api/v1/projects/${project_id}/services" \\`,
      `  -H "Authorization: Bearer $HOWDAH_TOKEN" \\`,
      `  -H 'Content-Type: application/json' \\`,
      `  -d ${quoted(json)}`,
    ].join('\n'),
    json,
  }
  return (
    <div className={layout['stack']}>
      <Segments label="The same as a request" name="request" value={form} options={forms} onChange={setForm} />
      <CodeBlock label="The request" text={texts[form]} wrap />
    </div>
  )
}
