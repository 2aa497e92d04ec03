// The same act for a shell: as a line of the command, and as a request.
import { base_path } from '#contract/api.ts'
import { CodeBlock } from './copy.tsx'
import { layout } from './layout.tsx'

type Props = { command: string; path: string; body: Readonly<Record<string, unknown>> }

export function AsCommand({ command, path, body }: Props) {
  const request = [
    `curl -sS "${location.origin}${base_path}${path}"`,
    `-H "Authorization: Bearer $HOWDAH_TOKEN"`,
    `-H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`,
  ]
  return (
    <div className={layout['commands']}>
      <CodeBlock label="The same as a command" text={command} wrap />
      <CodeBlock label="The same with curl" text={request.join(' \\\n  ')} wrap />
    </div>
  )
}
