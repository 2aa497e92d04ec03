// A typed client, derived from the table: one function an endpoint, named as in the table. It runs wherever fetch does.
// It adds nothing of its own: no retries, no caches. What the server refuses is thrown as a Fault.
import { api, type Api, base_path, type EndpointName, type StreamName } from './api.ts'
import {
  type BodyOf,
  type Endpoint,
  type EntryOf,
  next_cursor_header,
  type OutputOf,
  type ParamsOf,
  type QueryOf,
  stream_type,
} from './endpoint.ts'
import { newEventReader } from './event-stream.ts'
import { Fault, fault_status, type FaultCode } from './fault.ts'

export type ClientOptions = {
  /** Ends in /public/api/v1. */
  base_url: string
  /** `<public_key>.<secret_key>`, or an access token; a function is asked before each request. Left out: for what is public. */
  token?: string | (() => string | Promise<string>) | undefined
  /** Sent with every request, such as a user agent. */
  headers?: Readonly<Record<string, string>>
  fetch?: typeof globalThis.fetch
  /** A request that takes longer fails, and so does a stream that is silent for longer; the server never is. */
  timeout_ms?: number
}

type Given<Name extends string, Value> = [Value] extends [undefined] ? { [K in Name]?: never } : { [K in Name]: Value }
type GivenQuery<Value> = object extends Value ? { query?: Value } : Given<'query', Value>

export type ClientInput<Name extends EndpointName> = ParamsOf<Api[Name]> &
  Given<'body', BodyOf<Api[Name]>> &
  GivenQuery<QueryOf<Api[Name]>> &
  Manner

type Manner = {
  idempotency_key?: string
  /** How long the answer may wait until nothing is under way any more. */
  wait_seconds?: number
  /** Ends the request, or the stream. */
  signal?: AbortSignal
  /** Called when the list was cut at its limit. */
  onNextCursor?: (cursor: string) => void
}

export type StreamInput<Name extends StreamName> = ClientInput<Name> & {
  /** Of a stream that was interrupted: this one begins after that entry. */
  last_event_id?: string
  /** Called when the server has begun to send. */
  onOpen?: () => void
}

/** `id`: what to send as `last_event_id` to go on after this entry. */
export type Streamed<Name extends StreamName> = { id: string | undefined; entry: EntryOf<Api[Name]> }

export type Client = {
  [Name in EndpointName]: (input: ClientInput<Name>) => Promise<OutputOf<Api[Name]>>
} & {
  /** The list of an endpoint, oldest first, and then each entry as it comes. Ends when the server does; it is not resumed here. */
  stream<Name extends StreamName>(name: Name, input: StreamInput<Name>): AsyncGenerator<Streamed<Name>, void>
}

type AnyInput = Manner & {
  last_event_id?: string
  onOpen?: () => void
  body?: unknown
  query?: Record<string, unknown>
  [param: string]: unknown
}

const timeout_ms_default = 60_000

export function newClient(options: ClientOptions): Client {
  const calls = Object.entries<Endpoint>(api).map(([name, endpoint]) => [
    name,
    (input: AnyInput) => call(options, endpoint, input),
  ])
  const stream = (name: StreamName, input: AnyInput) => streamOf(options, api[name], input)
  // The rows of the table give both the names and the types: see Client.
  return { ...Object.fromEntries(calls), stream } as Client
}

async function* streamOf(options: ClientOptions, endpoint: Endpoint, input: AnyInput): AsyncGenerator<unknown, void> {
  const silence = new AbortController()
  const lose = () => silence.abort(new DOMException('the stream has been silent for too long', 'TimeoutError'))
  let patience = setTimeout(lose, options.timeout_ms ?? timeout_ms_default)
  try {
    const response = await send(options, endpoint, input, silence.signal, { accept: stream_type })
    if (!response.ok) throw faultFrom(response, await response.text())
    const eventsIn = newEventReader()
    let is_open = false
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      clearTimeout(patience)
      if (!is_open) input.onOpen?.()
      is_open = true
      for (const { id, type, data } of eventsIn(piece)) {
        if (type === 'fault') throw faultFrom(response, data)
        yield { id, entry: JSON.parse(data) }
      }
      patience = setTimeout(lose, options.timeout_ms ?? timeout_ms_default)
    }
  } finally {
    clearTimeout(patience)
    silence.abort()
  }
}

async function call(options: ClientOptions, endpoint: Endpoint, input: AnyInput): Promise<unknown> {
  const limit = AbortSignal.timeout(options.timeout_ms ?? timeout_ms_default)
  const response = await send(options, endpoint, input, limit)
  const text = await response.text()
  if (!response.ok) throw faultFrom(response, text)
  const next_cursor = response.headers.get(next_cursor_header)
  if (next_cursor !== null) input.onNextCursor?.(next_cursor)
  if (endpoint.output_type !== undefined) return text
  return text === '' ? undefined : JSON.parse(text)
}

async function send(
  options: ClientOptions,
  endpoint: Endpoint,
  input: AnyInput,
  limit: AbortSignal,
  more: Record<string, string> = {},
): Promise<Response> {
  const headers: Record<string, string> = { ...options.headers, ...more }
  const token = typeof options.token === 'function' ? await options.token() : options.token
  if (token !== undefined) headers['authorization'] = `Bearer ${token}`
  if (input.idempotency_key !== undefined) headers['idempotency-key'] = input.idempotency_key
  if (input.wait_seconds !== undefined) headers['prefer'] = `wait=${input.wait_seconds}`
  if (input.last_event_id !== undefined) headers['last-event-id'] = input.last_event_id
  if (endpoint.body !== undefined) headers['content-type'] = 'application/json'
  return await (options.fetch ?? globalThis.fetch)(urlOf(options.base_url, endpoint, input), {
    method: endpoint.method,
    headers,
    redirect: 'error',
    signal: input.signal === undefined ? limit : AbortSignal.any([limit, input.signal]),
    ...(endpoint.body === undefined ? {} : { body: JSON.stringify(input.body) }),
  })
}

function urlOf(base_url: string, endpoint: Endpoint, input: AnyInput): string {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(input[name])))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(input.query ?? {})) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined) query.append(name, String(item))
    }
  }
  return base_url.replace(/\/+$/, '') + path + (query.size === 0 ? '' : `?${query}`)
}

export function faultFrom(response: Response, text: string): Fault {
  const request_id = response.headers.get('x-request-id') ?? undefined
  const retry_after_seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const body = parseFault(text)
  return new Fault(
    body?.code ?? (response.status >= 500 ? 'UNAVAILABLE' : 'INVALID_REQUEST'),
    body?.message ??
      `the answer ${response.status} did not come from this API; is the URL right? It ends in ${base_path}`,
    {
      ...(body?.details === undefined ? {} : { details: body.details }),
      ...(Number.isFinite(retry_after_seconds) ? { retry_after_seconds } : {}),
      ...(request_id === undefined ? {} : { request_id }),
    },
  )
}

function parseFault(text: string): { code: FaultCode; message: string; details?: string } | undefined {
  try {
    const { code, message, details } = JSON.parse(text)
    if (!Object.hasOwn(fault_status, code) || typeof message !== 'string') return undefined
    return typeof details === 'string' ? { code, message, details } : { code, message }
  } catch {
    return undefined
  }
}
