// The HTTP side: one loop over the contract's table registers every endpoint. In this order a request is checked:
// host (400), rate (429), credential (401), path and method (404, 405), project (404), role (403), ids (404),
// body (413, 415, 400).
// A request that passes reaches its handler with its types. Every answer has X-Request-Id; a request leaves one log line without
// any content, and a request to change something leaves an entry in the audit log.
import compileSerializer, { type Schema } from 'fast-json-stringify'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifySchema } from 'fastify'
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { api, base_path, type EndpointName, type StreamName } from '#contract/api.ts'
import { effectOf } from '#contract/command.ts'
import { type Endpoint, stream_type } from '#contract/endpoint.ts'
import { Fault, type FaultCode, notFound } from '#contract/fault.ts'
import { plainSchema } from '#contract/openapi.ts'
import { version, version_header } from '#contract/version.ts'
import { type Admission, newAdmission } from './admission.ts'
import { newAuditHook } from './audit-hook.ts'
import { serveDocumentation } from './documentation.ts'
import type { Callers, Checks, Handler, Handlers, RecordOutcome, Tail, Tails } from './handler.ts'
import { declaresTooMuch, endAfterAnswer, readBodies } from './body.ts'
import { answerMalformed, faultOf, known_methods, sendFault, tooLarge, url_too_long } from './errors.ts'
import { hostProblem } from './host.ts'
import { lazily } from './lazily.ts'
import { listOf } from './list-page.ts'
import type { Log } from '../log.ts'
import type { RateLimits } from './rate-limit.ts'
import { newPlaces } from './places.ts'
import { newParser } from './request.ts'
import { newStreams, type Streams, wantsStream } from './stream.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    endpoint?: Endpoint
    /** No endpoint, but a page whose forms are read. */
    reads_forms?: true
  }
  interface FastifyRequest {
    /** The handler's answer, and the code of a refusal: for the audit log. */
    output: unknown
    fault_code: FaultCode | undefined
  }
}

type Parts = {
  /** Of all endpoints but the certificate's, which `caPem` answers. */
  handlers: Omit<Handlers, 'getCaCertificate'>
  /** Of the endpoints whose lists go on. */
  tails: Tails
  checks?: Checks
  callers: Callers
  /** Undefined: none. */
  rate_limits: RateLimits | undefined
  recordOutcome: RecordOutcome
  /** Names and addresses that requests may be meant for, beside those of loopback and the address that the request reached. */
  hosts: ReadonlySet<string>
  /** Addresses and networks whose X-Forwarded-For is believed. */
  trusted_proxies: readonly string[]
  /** Why the server cannot serve right now; undefined when it can. */
  ready: () => Promise<string | undefined>
  caPem: () => string
  /** Answers a browser that opens a path which no route has; undefined where there is no such page. */
  page?: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> | undefined
  /** Called after every answered request, for the metrics. */
  onAnswer?: (answer: { method: string; route: string; status: number; seconds: number }) => void
  log: Log
  version: string
}

const url_bytes_max = 8 * 1024
const receive_timeout_ms = 60_000
/** Requests that prefer to wait. */
export const caller_waits_max = 50
const project_waits_max = 200
const request_id_form = /^[\x21-\x7e]{1,128}$/
const health_paths = new Set(['/healthz', '/readyz'])
const public_paths = new Set([
  `${base_path}/openapi.json`,
  ...Object.values<Endpoint>(api)
    .filter(({ access }) => access === 'public')
    .map(({ path }) => base_path + path),
])

export function newHttp(parts: Parts): FastifyInstance {
  const { log } = parts
  const admission = newAdmission(parts.callers, parts.rate_limits)
  const app = fastify({
    logger: false,
    genReqId: requestIdOf,
    rewriteUrl: routableUrl,
    requestTimeout: receive_timeout_ms,
    return503OnClosing: false,
    trustProxy: parts.trusted_proxies.length > 0 && [...parts.trusted_proxies],
    // Longer than any URL can get: our own limit answers first.
    routerOptions: { maxParamLength: 8 * url_bytes_max },
    http: { requireHostHeader: false },
    clientErrorHandler: (error, socket) => answerMalformed(error, socket, randomUUID()),
  })
  app.decorateRequest('caller', undefined)
  app.decorateRequest('role', undefined)
  app.decorateRequest('output', undefined)
  app.decorateRequest('fault_code', undefined)
  app.setSerializerCompiler<Schema>(({ schema }) => {
    const compiled = lazily(() => compileSerializer(schema))
    return (answer) => compiled()(answer)
  })
  // No path accepts it, and Fastify would ask for a body before it says so.
  app.addHttpMethod('QUERY', { hasBody: false, overrideExisting: true })
  readBodies(app)
  app.setErrorHandler((error, request, reply) => {
    const fault = faultOf(error, request.id, log)
    request.fault_code = fault.code
    if (fault.code === 'PAYLOAD_TOO_LARGE') endAfterAnswer(request, reply)
    const is_page = fault.status === 404 && request.routeOptions.config.endpoint === undefined
    return (is_page ? parts.page?.(request, reply) : undefined) ?? sendFault(reply, fault)
  })

  addHooks(app, admission, parts.hosts)
  tellAnswers(app, parts)
  const streams = newStreams(log)
  // Before the server waits for the answers that are under way.
  app.addHook('preClose', async () => streams.close())
  serveEndpoints(app, parts, admission, streams)
  serveHealth(app, parts)
  serveDocumentation(app, parts.version)
  answerUnknownPaths(app, admission, parts.page)
  endSilentConnections(app)
  return app
}

/** A connection without a request is not idle to Node, and would hold up the end of the server. Clients open some in advance. */
function endSilentConnections(app: FastifyInstance): void {
  const silent = new Set<Socket>()
  app.server.on('connection', (socket) => {
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
  })
  app.server.on('request', ({ socket }) => silent.delete(socket))
  app.addHook('preClose', async () => silent.forEach((socket) => socket.destroy()))
}

function addHooks(app: FastifyInstance, admission: Admission, hosts: ReadonlySet<string>): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id).header(version_header, version)
    reply.header('x-content-type-options', 'nosniff').header('cache-control', 'no-store')
    if (declaresTooMuch(request)) endAfterAnswer(request, reply)
    const host_problem = hostProblem(request.raw, hosts)
    if (host_problem !== undefined) return done(new Fault('INVALID_REQUEST', host_problem))
    // Without a declared body there is nothing whose type could be wrong.
    const { headers } = request.raw
    const { endpoint, reads_forms } = request.routeOptions.config
    const ignores_body = endpoint?.body === undefined && reads_forms !== true
    if (ignores_body && headers['content-type'] !== undefined) delete headers['content-type']
    if (request.raw.url !== undefined && request.raw.url.length > url_bytes_max) return done(urlTooLong())
    done(health_paths.has(request.url) ? undefined : admission.refusalOfAddress(request))
  })
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    // An unknown path is answered first.
    done(declaresTooMuch(request) && !request.is404 ? tooLarge() : null)
  })
}

/** One log line a request, and a call for the metrics. */
function tellAnswers(app: FastifyInstance, { log, onAnswer }: Parts): void {
  // The fields of this line are fixed and none is secret; the censor would cost more than the rest of a request.
  const request_log = log.child({}, { redact: [] })
  app.addHook('onResponse', (request, reply, done) => {
    const { method } = request
    const { url: route } = request.routeOptions
    const { statusCode: status, elapsedTime: elapsed_ms } = reply
    // A request that preferred to wait, or a stream, says nothing of how fast answers are.
    const waited = reply.hasHeader('preference-applied') || reply.getHeader('content-type') === stream_type
    if (!waited) onAnswer?.({ method, route: route ?? 'unknown', status, seconds: elapsed_ms / 1000 })
    request_log.info(
      {
        method,
        route,
        status,
        took_ms: Math.round(elapsed_ms * 10) / 10,
        request_id: request.id,
        user_id: request.caller?.user.id,
        public_key: request.caller?.type === 'apiKey' ? request.caller.public_key : undefined,
      },
      'request',
    )
    done()
  })
}

function serveEndpoints(
  app: FastifyInstance,
  { handlers: others, tails, checks = {}, recordOutcome, caPem }: Parts,
  admission: Admission,
  streams: Streams,
): void {
  const waits = newPlaces({
    caller_max: caller_waits_max,
    project_max: project_waits_max,
    what: 'requests that wait',
    advice: 'let one of them end first, or leave out the header Prefer',
  })
  const handlers: Handlers = { ...others, getCaCertificate: async () => caPem() }
  for (const name of Object.keys(api) as EndpointName[]) {
    const endpoint: Endpoint = api[name]
    const parse = newParser(endpoint, checks[name])
    // The table types each handler by its row; inside this loop the row is any of them.
    const handler = handlers[name] as Handler<EndpointName>
    const tail = (tails as Partial<Record<EndpointName, Tail<StreamName>>>)[name]
    app.route({
      method: endpoint.method,
      url: base_path + endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { endpoint },
      schema: responseOf(name, endpoint),
      onRequest: (request) => admission.admit(endpoint, request),
      handler: async (request, reply) => {
        // What parse returns has the row's types: the schemas that made those types have checked it.
        const parsed = parse(request) as Parameters<typeof handler>[0]
        if (tail !== undefined && wantsStream(request)) {
          const readmit = () => admission.readmit(endpoint, request)
          return streams.serve(request, reply, { tail, parsed, readmit })
        }
        const leave = parsed.wait_seconds > 0 ? waits.take(request) : undefined
        if (leave !== undefined) reply.header('preference-applied', `wait=${parsed.wait_seconds}`)
        const answer = await Promise.resolve(handler(parsed)).finally(leave)
        const output = endpoint.pages ? listOf(request, reply, answer) : answer
        request.output = output
        if (endpoint.output_type !== undefined) reply.type(endpoint.output_type)
        return reply.code(endpoint.success).send(endpoint.output && output)
      },
      ...(effectOf(endpoint) !== 'read' && { onSend: newAuditHook(name, endpoint, recordOutcome) }),
    })
  }
}

/** Answers that are long lists of texts: JSON.stringify writes them in two thirds of the time that their schema takes. */
const long_answers: ReadonlySet<EndpointName> = new Set(['getServiceLogs', 'getReplicaSetLogs'])

function responseOf(name: EndpointName, { output, output_type, success }: Endpoint): FastifySchema {
  return output === undefined || output_type !== undefined || long_answers.has(name)
    ? {}
    : { response: { [success]: plainSchema(output) } }
}

function answerUnknownPaths(app: FastifyInstance, admission: Admission, page: Parts['page']): void {
  app.setNotFoundHandler(async (request, reply) => {
    const shown = page?.(request, reply)
    if (shown !== undefined) return shown
    const path = request.url.split('?')[0] ?? '/'
    const allowed = known_methods.filter((method) => app.findRoute({ method, url: path }))
    // Whether a path exists below the base is told to callers only; public paths are public with every method.
    if (path.startsWith(`${base_path}/`) && !public_paths.has(path)) await admission.authenticate(request)
    if (allowed.length === 0) throw notFound(`there is nothing at this path; the endpoints are below ${base_path}`)
    reply.header('allow', allowed.join(', '))
    throw new Fault('METHOD_NOT_ALLOWED', `this path accepts ${allowed.join(', ')} only`)
  })
}

function serveHealth(app: FastifyInstance, { ready, version }: Parts): void {
  app.get('/healthz', async () => ({ status: 'ok', version }))
  app.get('/readyz', async () => {
    const reason = await ready()
    if (reason !== undefined) throw new Fault('UNAVAILABLE', reason, { retry_after_seconds: 1 })
    return { status: 'ready' }
  })
}

/** The caller's own id where it is harmless to write down, else a new one. */
function requestIdOf(raw: IncomingMessage): string {
  const given = raw.headers['x-request-id']
  return typeof given === 'string' && request_id_form.test(given) ? given : randomUUID()
}

/** A path with broken percent-encoding is taken literally, so that it names something unknown rather than nothing. */
function routableUrl(raw: IncomingMessage): string {
  const url = raw.url ?? '/'
  if (!url.includes('%')) return url
  const [path = '/', ...query] = url.split('?')
  try {
    decodeURIComponent(path)
    return url
  } catch {
    return [path.replaceAll('%', '%25'), ...query].join('?')
  }
}

const urlTooLong = (): Fault => new Fault('INVALID_REQUEST', url_too_long)
