// A fetch that repeats what is safe to repeat: reads, and requests with a key that makes the second one harmless.
// 1. A server that refuses the first connection of all is not running: a few quick attempts. 2. A server that has answered before, or
//    broke off a request, is being started anew: it is given some time. 3. 429 and 503 are repeated when they say after how long.

export type RetryOptions = {
  /** For a server that is being started anew. */
  patience_ms?: number
  onRetry?: (error: NoAnswerError) => void
}

/** No server answered. */
export class NoAnswerError extends Error {
  /** False: the request was never sent. */
  readonly may_have_arrived: boolean

  constructor(origin: string, may_have_arrived: boolean, cause: unknown) {
    super(silenceOf(origin, cause), { cause })
    this.name = 'NoAnswerError'
    this.may_have_arrived = may_have_arrived
  }
}

const quick_attempts_max = 3
const pause_ms = 200
const retry_after_seconds_max = 30
const patience_ms_default = 20_000
/** What Node says where TLS was spoken to a port without it. */
const no_tls = 'ERR_SSL_WRONG_VERSION_NUMBER'
const certificate_form = /CERT|LEAF_SIGNATURE/
const authority_form = /ISSUER|SELF_SIGNED|LEAF_SIGNATURE/
/** What Node says of a connection that was never made. */
const never_made = new Set([no_tls, 'ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH'])

export function retrying(
  send: typeof fetch,
  { patience_ms = patience_ms_default, onRetry }: RetryOptions = {},
): typeof fetch {
  let has_answered = false
  return async (url, init = {}) => {
    const may_repeat = init.method === 'GET' || new Headers(init.headers).has('idempotency-key')
    const begin = performance.now()
    let may_have_arrived = false
    for (let attempt = 1; ; attempt += 1) {
      const is_last_quick = !may_repeat || attempt >= quick_attempts_max
      try {
        const response = await send(url, init)
        has_answered = true
        const wait_seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
        const is_told_to = [429, 503].includes(response.status) && wait_seconds <= retry_after_seconds_max
        if (is_last_quick || !is_told_to) return response
        await response.body?.cancel()
        await pause(wait_seconds * 1000, init.signal)
      } catch (error) {
        // fetch throws a TypeError where no server answers.
        if (!(error instanceof TypeError)) throw error
        may_have_arrived ||= wasMade(error)
        const failure = new NoAnswerError(new URL(new Request(url).url).origin, may_have_arrived, error)
        const is_restarting = may_repeat && (has_answered || may_have_arrived)
        const is_over = is_restarting ? performance.now() - begin > patience_ms : is_last_quick
        if (is_over) throw failure
        if (is_restarting) onRetry?.(failure)
        await pause(pause_ms * Math.min(attempt, 5), init.signal)
      }
    }
  }
}

/** Why there is no answer, and what to look at. */
export function silenceOf(origin: string, error: unknown): string {
  const code = codeOf(error)
  if (code === no_tls) return `${origin} speaks no TLS; is its address http://${new URL(origin).host}?`
  if (code !== undefined && certificate_form.test(code)) {
    const asked = authority_form.test(code)
      ? 'does NODE_EXTRA_CA_CERTS name its authority?'
      : 'is it in date, and made for this address?'
    return `the certificate of ${origin} is not accepted (${code}); ${asked}`
  }
  return `${origin} does not answer; is the server running?`
}

/** Whether there was a connection. Browsers do not tell: there it may have been. */
function wasMade(error: Error): boolean {
  const code = codeOf(error)
  if (code === undefined) return typeof error.cause !== 'object' || error.cause === null
  return !never_made.has(code) && !certificate_form.test(code)
}

/** Node's, below the error of fetch. */
function codeOf(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : undefined
}

export function pause(duration_ms: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      if (signal?.aborted === true) reject(signal.reason)
      else resolve()
    }
    const timer = setTimeout(end, duration_ms)
    signal?.addEventListener('abort', end)
    if (signal?.aborted === true) end()
  })
}

/** For `Idempotency-Key`. Pages that came without TLS have these random numbers, and no others. */
export function newKey(): string {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
