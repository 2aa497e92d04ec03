// howdah preview github: a database for each pull request, in a workflow of GitHub. The event says whether it is made or deleted.
// 1. Inputs come by variables only, so that no branch name is ever part of a script; no line begins with one, so that none is a command of
//    the workflow. 2. Secrets are masked before they are written. 3. The comment is changed and never repeated, and holds no secret.
import { appendFile, readFile } from 'node:fs/promises'
import { messageOf } from '../visible.ts'
import { type Input, UsageError } from '../command.ts'
import { type Context, projectOf } from './context.ts'
import { closePreview, ensurePreview, type Preview, wantedOf } from './preview.ts'

type Variables = NodeJS.ProcessEnv
type Event = { action?: string; number?: number; repository?: { name?: string } }

const request_ms = 30_000
const flags = ['pooler', 'reset', 'last-snapshot', 'now'] as const

export async function runPreviewGithub(context: Context): Promise<void> {
  const { terminal } = context
  const env = process.env
  if (!env['HOWDAH_TOKEN']) {
    terminal.print(
      '::notice::There is no token: pull requests of forked repositories get no secrets. No preview was made.',
    )
    return
  }
  const event = JSON.parse(await readFile(need(env, 'GITHUB_EVENT_PATH'), 'utf8')) as Event
  const { number, repository } = event
  const key =
    env['PREVIEW_NAME'] || (number === undefined ? undefined : `pr-${number}-${repository?.name ?? 'preview'}`)
  if (key === undefined) throw new UsageError('this event is of no pull request; PREVIEW_NAME names the preview')
  const session = await context.session()
  const project_id = await projectOf(context, session)
  const input = inputOf(env, key)
  if (event.action === 'closed') {
    const count = await closePreview(session, project_id, input)
    terminal.print(`preview ${JSON.stringify(key)}: ${count === 0 ? 'there is none any more' : 'deleted'}`)
    return await comment(context, number, key, 'The preview database is deleted.')
  }
  const wanted = await wantedOf(session, project_id, input)
  const preview = await ensurePreview(session, wanted, (line) => terminal.print(`preview ${line}`))
  for (const secret of [preview.password, preview.url, preview.pooled_url]) {
    if (secret !== undefined) terminal.print(`::add-mask::${secret}`)
  }
  await appendFile(need(env, 'GITHUB_OUTPUT'), outputLines(preview))
  const { host, port, service_id, expires_at } = preview
  await comment(
    context,
    number,
    key,
    `The preview database \`${service_id}\` is at \`${host}:${port}\`. It is deleted with this pull request, or at ${expires_at}.`,
  )
}

const strategies: readonly string[] = ['now', 'last-snapshot', 'time']

/** The variables as the words of preview up. */
function inputOf(env: Variables, key: string): Input {
  const strategy = env['PREVIEW_STRATEGY'] || 'now'
  if (!strategies.includes(strategy)) throw new UsageError(`the strategy must be one of ${strategies.join(', ')}`)
  const texts: Record<string, string | undefined> = {
    key,
    service: env['PREVIEW_SERVICE'],
    cpu: env['PREVIEW_CPU'],
    expires: env['PREVIEW_EXPIRES'],
    ca: env['PREVIEW_CA'],
    at: strategy === 'time' ? need(env, 'PREVIEW_AT') : undefined,
  }
  const text = (name: string) => texts[name] || undefined
  const set = flags.filter((name) =>
    name === 'now' || name === 'last-snapshot' ? strategy === name : env[`PREVIEW_${name.toUpperCase()}`] === 'true',
  )
  return {
    text,
    texts: () => [],
    need: (name) => text(name) ?? need(env, `PREVIEW_${name.toUpperCase()}`),
    isSet: (name) => set.some((one) => one === name) || (name === 'at' && text('at') !== undefined),
    rest: [],
  }
}

/** None of the values has a line break: names of hosts, ids and URLs. */
function outputLines(preview: Preview): string {
  const { created, ...others } = preview
  const lines = Object.entries({ ...others, created: String(created) })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name.replaceAll('_', '-')}=${String(value)}\n`)
  return lines.join('')
}

/** One comment of its own, known by a mark that readers do not see. The preview is there without it, too. */
async function comment({ terminal }: Context, number: number | undefined, key: string, text: string): Promise<void> {
  const { env } = process
  const [token, api_url, repository] = [env['PREVIEW_GITHUB_TOKEN'], env['GITHUB_API_URL'], env['GITHUB_REPOSITORY']]
  if (env['PREVIEW_COMMENT'] === 'false' || !token || !api_url || !repository || number === undefined) return
  const mark = `<!-- howdah preview ${encodeURIComponent(key)} -->`
  const send = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await fetch(`${api_url}/repos/${repository}/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, accept: 'application/vnd.github+json' },
      signal: AbortSignal.timeout(request_ms),
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}`)
    return await response.json()
  }
  try {
    const all = (await send('GET', `issues/${number}/comments?per_page=100`)) as { id: number; body?: string }[]
    const own = all.find(({ body }) => body?.startsWith(mark))
    const body = { body: `${mark}\n${text}` }
    if (own === undefined) await send('POST', `issues/${number}/comments`, body)
    else await send('PATCH', `issues/comments/${own.id}`, body)
  } catch (error) {
    terminal.print(`::warning::the comment was not written: ${messageOf(error)}`)
  }
}

function need(env: Variables, name: string): string {
  const value = env[name]
  if (!value) throw new UsageError(`the variable ${name} is missing`)
  return value
}
