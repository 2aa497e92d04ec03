// howdah api: one request as it is written, with the credentials of the session, to its server and to no other one.
import { faultFrom } from '#contract/client.ts'
import { UsageError } from '../command.ts'
import type { Context } from './context.ts'
import { jsonFrom } from './member.ts'

const methods = ['GET', 'POST', 'DELETE', 'PUT', 'PATCH', 'HEAD']
const timeout_ms = 60_000

export async function runApi(context: Context): Promise<void> {
  const { input, terminal, around } = context
  const method = input.need('method').toUpperCase()
  const path = input.need('path')
  if (!methods.includes(method)) throw new UsageError(`the method must be one of ${methods.join(', ')}`)
  if (!/^\/(?!\/)/.test(path)) throw new UsageError('the path begins with one /, such as /projects')
  const fields = Object.fromEntries(input.texts('field').map(fieldOf))
  const { api_url, token } = await context.session()
  const url = new URL(api_url + path)
  const is_read = method === 'GET' || method === 'HEAD'
  if (is_read) for (const [name, value] of Object.entries(fields)) url.searchParams.append(name, String(value))
  const raw = input.text('body')
  const has_body = raw !== undefined || (!is_read && Object.keys(fields).length > 0)
  const body = raw === undefined ? fields : { ...Object(jsonFrom('--body', raw)), ...fields }
  const response = await fetch(url, {
    method,
    redirect: 'error',
    signal: AbortSignal.timeout(timeout_ms),
    headers: {
      authorization: `Bearer ${await token()}`,
      'user-agent': `howdah-cli/${around.version}`,
      ...(has_body && { 'content-type': 'application/json' }),
    },
    ...(has_body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const is_json = response.headers.get('content-type')?.includes('json') === true
  if (!response.ok) throw faultFrom(response, text)
  if (text !== '') terminal.print(is_json ? JSON.stringify(JSON.parse(text), undefined, 2) : text)
}

/** `name=shop` is text; numbers, true, false, null, lists and objects are what they look like in JSON. */
function fieldOf(field: string): [name: string, value: unknown] {
  const equals = field.indexOf('=')
  if (equals < 1) throw new UsageError(`-f ${field}: write key=value`)
  const text = field.slice(equals + 1)
  const is_json = /^(-?\d+(\.\d+)?|true|false|null|[[{].*)$/s.test(text)
  return [field.slice(0, equals), is_json ? jsonFrom(`-f ${field}`, text) : text]
}
