// One HTTPS request to the API server of a cell, or one stream of lines from it. The account is read again when its files may have
// changed. Every request ends within its time; a stream that is silent for too long is cut.
import { Agent, request as requestHttps } from 'node:https'
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { linesOf } from '../../host/lines.ts'
import { messageOf } from '../../host/message.ts'
import { apiErrorOf, NoAnswer } from './errors.ts'
import { type Access, type KubeconfigSource, readAccess } from './kubeconfig.ts'

export type Call = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  query?: Readonly<Record<string, string | number | boolean | undefined>>
  body?: unknown
  content_type?: string
  accept?: string
  answer_bytes_max?: number
}

export type Connection = ReturnType<typeof openConnection>

const timeout_ms = 5_000
/** Tokens and certificates are replaced in their files long before they end. */
const access_seconds = 60
/** Bookmarks come once a minute. */
const silence_ms_max = 90_000
/** Of a page of 500 objects. */
const answer_bytes_max_default = 64 * 2 ** 20
/** Far more than an object has. A line of a log is as long as a tenant likes. */
const line_characters_max = 16 * 2 ** 20

export function openConnection(source: KubeconfigSource) {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const streams = new Agent({ keepAlive: false })
  const access = newAccess(source)
  return {
    /** The answer's text. */
    ask: async (call: Call): Promise<string> => {
      const expiry = AbortSignal.timeout(timeout_ms)
      try {
        const answer = await send(await access.now(), call, agent, expiry)
        const content = await textOf(answer, call.answer_bytes_max)
        if (answer.statusCode === 401) access.forget()
        if ((answer.statusCode ?? 500) < 300) return content
        throw apiErrorOf(answer.statusCode ?? 500, content)
      } catch (error) {
        if (expiry.aborted) throw new NoAnswer(`no answer within ${timeout_ms / 1000} s`, { cause: error })
        throw isOfNetwork(error) ? new NoAnswer(messageOf(error), { cause: error }) : error
      }
    },
    /** Ends when the server ends it, or the signal says so; fails where it is silent for too long, or breaks off. */
    lines: async function* (call: Call, signal: AbortSignal): AsyncGenerator<string> {
      const silence = newSilence()
      const either = AbortSignal.any([signal, silence.signal])
      try {
        const answer = await send(await access.now(), call, streams, either)
        if ((answer.statusCode ?? 500) >= 300) throw apiErrorOf(answer.statusCode ?? 500, await textOf(answer))
        silence.heard()
        // A connection that is cut may fail after its end, when no reader is left to hear of it.
        answer.on('error', () => undefined)
        for await (const line of linesOf(answer, line_characters_max)) {
          silence.heard()
          yield line
        }
        if (!answer.complete && !signal.aborted) throw new NoAnswer('its answer broke off')
      } catch (error) {
        if (signal.aborted) return
        if (silence.signal.aborted) throw new NoAnswer('it is silent', { cause: error })
        throw isOfNetwork(error) ? new NoAnswer(messageOf(error), { cause: error }) : error
      } finally {
        silence.end()
      }
    },
    close: (): void => {
      agent.destroy()
      streams.destroy()
    },
  }
}

function newAccess(source: KubeconfigSource) {
  let read: { access: Promise<Access>; at_ms: number } | undefined
  const forget = () => {
    read = undefined
  }
  return {
    now: (): Promise<Access> => {
      if (read !== undefined && performance.now() - read.at_ms < access_seconds * 1000) return read.access
      const access = readAccess(source)
      read = { access, at_ms: performance.now() }
      access.catch(forget)
      return access
    },
    forget,
  }
}

/** Aborts a stream whose answer begins too late, or that has said nothing for too long; and at its end, whatever ends it. */
function newSilence() {
  const late = new AbortController()
  const end = () => late.abort()
  let timer = setTimeout(end, timeout_ms)
  return {
    signal: late.signal,
    heard: () => {
      clearTimeout(timer)
      timer = setTimeout(end, silence_ms_max)
    },
    end: () => {
      clearTimeout(timer)
      end()
    },
  }
}

async function send(access: Access, call: Call, agent: Agent, signal: AbortSignal): Promise<IncomingMessage> {
  const url = new URL(access.server.replace(/\/$/, '') + call.path)
  for (const [name, value] of Object.entries(call.query ?? {}))
    if (value !== undefined) url.searchParams.set(name, String(value))
  const body = call.body === undefined ? undefined : JSON.stringify(call.body)
  const headers = {
    accept: call.accept ?? 'application/json',
    ...(access.token !== undefined && { authorization: `Bearer ${access.token}` }),
    ...(body !== undefined && {
      'content-type': call.content_type ?? 'application/json',
      'content-length': Buffer.byteLength(body),
    }),
  }
  const { ca, cert, key, servername } = access
  return await new Promise((resolve, reject) => {
    const options = { method: call.method, headers, signal }
    const request =
      url.protocol === 'https:'
        ? requestHttps(url, { ...options, agent, ca, cert, key, ...(servername && { servername }) }, resolve)
        : requestHttp(url, options, resolve)
    request.on('error', reject)
    request.end(body)
  })
}

async function textOf(answer: IncomingMessage, answer_bytes_max = answer_bytes_max_default): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  // Chunks of a stream without an encoding are buffers.
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > answer_bytes_max) throw new Error(`an answer of more than ${answer_bytes_max} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Of the system, of TLS, or of an exec plugin: in all of these no answer came. */
const isOfNetwork = (error: unknown): error is Error => error instanceof Error && 'code' in error
