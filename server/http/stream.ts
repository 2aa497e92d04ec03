// A list that goes on, as server-sent events: the same for every endpoint that declares `streams`.
// 1. Every event has an id, and a stream that begins after that id continues without gap or repeat.
// 2. A stream ends when its client leaves or stops reading, when the caller may not read any more, when its list ends, and when the server
//    does. But for the first and the last, an event `fault` says why.
// 3. Nothing is sent before the first read: until then a refusal is an answer like any other.
// 4. A caller and a project have a number of streams at most.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import type { StreamName } from '#contract/api.ts'
import { stream_type } from '#contract/endpoint.ts'
import { Fault } from '#contract/fault.ts'
import { invalidRequest, ofRequest } from '#contract/problem.ts'
import type { Log } from '../log.ts'
import { faultOf } from './errors.ts'
import type { HandlerRequest, Tail, TailPage } from './handler.ts'
import { newPlaces } from './places.ts'

export const caller_streams_max = 20
export const project_streams_max = 100

export type Pace = {
  /** Between two reads of a list without news. */
  read_ms: number
  /** Proxies and clients take a connection for dead that is silent for a minute. */
  heartbeat_ms: number
  /** For how long a client may read nothing. */
  unread_ms: number
}

const usual_pace: Pace = { read_ms: 1_000, heartbeat_ms: 15_000, unread_ms: 60_000 }
const id_form = /^[\x21-\x7e]{1,512}$/

type Source = {
  tail: Tail<StreamName>
  parsed: HandlerRequest<StreamName>
  /** Throws when the caller may not read any more. */
  readmit: () => Promise<void>
}

export type Streams = {
  serve(request: FastifyRequest, reply: FastifyReply, source: Source): Promise<FastifyReply>
  /** Ends all, and lets none begin. */
  close(): void
}

/** Whether the client can read a stream; without it the list is answered as it is. */
export function wantsStream({ method, headers }: FastifyRequest): boolean {
  const accepted = (headers.accept ?? '').split(',').map((type) => type.split(';').map((part) => part.trim()))
  return method === 'GET' && accepted.some(([type, ...more]) => type === stream_type && !more.includes('q=0'))
}

export function newStreams(log: Log, pace = usual_pace): Streams {
  const closing = new AbortController()
  const places = newPlaces({
    caller_max: caller_streams_max,
    project_max: project_streams_max,
    what: 'open streams',
    advice: 'end one of them first, or read the list',
  })
  return {
    serve: async (request, reply, { tail, parsed, readmit }) => {
      const after = resumedId(request)
      if (closing.signal.aborted)
        throw new Fault('UNAVAILABLE', 'the server is about to end', { retry_after_seconds: 1 })
      const leave = places.take(request)
      try {
        const first = await tail.read(parsed, after)
        const out = new PassThrough()
        const left = new AbortController()
        out.once('close', () => left.abort())
        const ended = AbortSignal.any([closing.signal, left.signal])
        const read = async (at: string | undefined) => {
          await readmit()
          return tail.read(parsed, at)
        }
        const watch = (onNews: () => void) => tail.watch?.(parsed, onNews)
        const faultFrom = (error: unknown) => faultOf(error, request.id, log)
        void sendAll({ out, first, after, read, watch, faultFrom, ended, pace }).finally(leave)
        return reply
          .code(200)
          .header('cache-control', 'no-store, no-transform')
          .header('x-accel-buffering', 'no')
          .type(stream_type)
          .send(out)
      } catch (error) {
        leave()
        throw error
      }
    },
    close: () => closing.abort(),
  }
}

function resumedId({ headers }: FastifyRequest): string | undefined {
  const id = headers['last-event-id']
  if (id === undefined || id === '') return undefined
  if (typeof id === 'string' && id_form.test(id)) return id
  throw unknownEventId()
}

export const unknownEventId = (): Fault =>
  invalidRequest([
    ofRequest('the header Last-Event-ID must be the id of an event of this stream; leave it out to begin anew'),
  ])

type Sending = {
  out: PassThrough
  first: TailPage<unknown>
  after: string | undefined
  read: (at: string | undefined) => Promise<TailPage<unknown>>
  watch: (onNews: () => void) => (() => void) | undefined
  faultFrom: (error: unknown) => Fault
  ended: AbortSignal
  pace: Pace
}

/** Until the stream ends. It never fails. */
async function sendAll({ out, first, after, read, watch, faultFrom, ended, pace }: Sending): Promise<void> {
  const news = newNews(ended)
  const unwatch = watch(news.tell)
  let [page, at, told, beat_ms] = [first, after, after, performance.now()]
  const write = async (text: string) => {
    ended.throwIfAborted()
    beat_ms = performance.now()
    if (out.write(text)) return
    const patience = setTimeout(() => out.destroy(), pace.unread_ms)
    await once(out, 'drain', { signal: ended }).finally(() => clearTimeout(patience))
  }
  try {
    await write('retry: 1000\n\n')
    for (;;) {
      for (const { id, entry } of page.entries) {
        await write(`id: ${id}\ndata: ${JSON.stringify(entry)}\n\n`)
        told = id
      }
      if (page.at === at) await news.within(pace.read_ms)
      at = page.at
      if (performance.now() - beat_ms >= pace.heartbeat_ms) {
        // Entries that did not match need not be read again by a stream that resumes.
        await write(at === undefined || at === told ? ':\n\n' : `id: ${at}\n\n`)
        told = at
      }
      ended.throwIfAborted()
      page = await read(at)
    }
  } catch (error) {
    if (!ended.aborted && !out.destroyed) out.write(`event: fault\ndata: ${JSON.stringify(faultFrom(error).body)}\n\n`)
  } finally {
    unwatch?.()
    out.end()
  }
}

/** `within`: until it is told of news, for this time at most; at once when it was told since the last time. */
function newNews(ended: AbortSignal) {
  let told = false
  let wake: (() => void) | undefined
  const tell = () => {
    told = true
    wake?.()
  }
  ended.addEventListener('abort', tell)
  return {
    tell,
    within: async (ms: number) => {
      if (!told) {
        const timer = Promise.withResolvers<void>()
        wake = timer.resolve
        const timeout = setTimeout(timer.resolve, ms)
        await timer.promise
        clearTimeout(timeout)
      }
      told = false
    },
  }
}
