// A typed client, derived from the table: one function an endpoint, named as in the table. It runs wherever fetch does.
// It adds nothing of its own: no retries, no caches. What the server refuses is thrown as a Fault.
import { api, type Api, base_path, type EndpointName } from './api.ts'
import type { BodyOf, Endpoint, OutputOf, ParamsOf, QueryOf } from './endpoint.ts'
import { Fault, fault_status, type FaultCode } from './fault.ts'

export type ClientOptions = {
  /** Ends in /public/api/v1. */
  base_url: string
  /** `<public_key>.<secret_key>` */
  token: string
  fetch?: typeof globalThis.fetch
  /** A request that takes longer fails; longer than the server itself ever takes. */
  timeout_ms?: number
}

type Given<Name extends string, Value> = [Value] extends [undefined] ? { [K in Name]?: never } : { [K in Name]: Value }

export type ClientInput<Name extends EndpointName> = ParamsOf<Api[Name]> &
  Given<'body', BodyOf<Api[Name]>> &
  Given<'query', QueryOf<Api[Name]>> &
  Manner

type Manner = {
  idempotency_key?: string
  /** How long the answer may wait until nothing is under way any more. */
  wait_seconds?: number
}

export type Client = {
  [Name in EndpointName]: (input: ClientInput<Name>) => Promise<OutputOf<Api[Name]>>
}

type AnyInput = Manner & { body?: unknown; query?: Record<string, unknown>; [param: string]: unknown }

const timeout_ms_default = 60_000

export function newClient(options: ClientOptions): Client {
  const calls = Object.entries<Endpoint>(api).map(([name, endpoint]) => [
    name,
    (input: AnyInput) => call(options, endpoint, input),
  ])
  // The rows of the table give both the names and the types: see Client.
  return Object.fromEntries(calls) as Client
}

async function call(options: ClientOptions, endpoint: Endpoint, input: AnyInput): Promise<unknown> {
  const headers: Record<string, string> = { authorization: `Bearer ${options.token}` }
  if (input.idempotency_key !== undefined) headers['idempotency-key'] = input.idempotency_key
  if (input.wait_seconds !== undefined) headers['prefer'] = `wait=${input.wait_seconds}`
  if (endpoint.body !== undefined) headers['content-type'] = 'application/json'
  const send = options.fetch ?? globalThis.fetch
  const response = await send(urlOf(options.base_url, endpoint, input), {
    method: endpoint.method,
    headers,
    redirect: 'error',
    signal: AbortSignal.timeout(options.timeout_ms ?? timeout_ms_default),
    ...(endpoint.body === undefined ? {} : { body: JSON.stringify(input.body) }),
  })
  const text = await response.text()
  if (!response.ok) throw faultFrom(response, text)
  if (endpoint.output_type !== undefined) return text
  return text === '' ? undefined : JSON.parse(text)
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

function faultFrom(response: Response, text: string): Fault {
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
