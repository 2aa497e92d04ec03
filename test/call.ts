// A caller of the API as tests need it: any method, path and body, also wrong ones; the answer as it came.
import type { FaultBody } from '#contract/fault.ts'
import type { Service } from '#contract/service.ts'

export type Answer<Body> = {
  status: number
  headers: Headers
  /** Parsed JSON, or text of another type; undefined for an empty answer. Typed as the test expects it. */
  body: Body
}

/** What most answers are: a service or a fault. */
export type ServiceOrFault = Service & FaultBody

export type Call = <Body = ServiceOrFault>(
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer<Body>>

/** path is below the base, such as `/projects`. A header given as '' is left out. */
export function newCall(api_url: string, token: string | undefined): Call {
  return async <Body>(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer<Body>> => {
    const all: Record<string, string> = {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    }
    const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''))
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(api_url + path, { method, headers: sent, ...(text !== undefined && { body: text }) })
    const answer = await response.text()
    const is_json = response.headers.get('content-type')?.includes('json') === true
    const parsed: unknown = answer === '' ? undefined : is_json ? JSON.parse(answer) : answer
    // The test names the type that it expects, and its assertions find out.
    return { status: response.status, headers: response.headers, body: parsed as Body }
  }
}
