// The HTTP side: one loop over the contract's table registers every endpoint. In this order a request is checked:
// credential (401), path and method (404, 405), project (404), role (403), ids (404), body (413, 415, 400). What passes
// reaches its handler with its types. Every answer has X-Request-Id; a request leaves one log line without any content.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { TSchema } from 'typebox'
import { api, base_path, type EndpointName } from '#contract/api.ts'
import { type Endpoint, roleAllows } from '#contract/endpoint.ts'
import { Fault, notFound, unknown_project, unknown_service } from '#contract/fault.ts'
import { objectOf, plainSchema } from '#contract/openapi.ts'
import { invalidRequest, nameProblem, problemsOf } from '#contract/problem.ts'
import { serveDocumentation } from './documentation.ts'
import type { Caller, Handler, Handlers } from './handler.ts'
import { readBodies } from './http-body.ts'
import { answerMalformed, faultOf, sendFault, url_too_long } from './http-errors.ts'
import { id_form } from './id.ts'
import type { Log } from './log.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    endpoint?: Endpoint
  }
  interface FastifyRequest {
    caller: Caller | undefined
  }
}

type Parts = {
  handlers: Handlers
  authenticate: (authorization: string | undefined) => Promise<Caller | undefined>
  /** Why the server cannot serve right now; undefined when it can. */
  ready: () => Promise<string | undefined>
  ca_pem: string
  /** Hears of every answered request, for those who count. */
  onAnswer?: (answer: { method: string; route: string; status: number; seconds: number }) => void
  log: Log
  version: string
}

const url_bytes_max = 8 * 1024
const receive_timeout_ms = 60_000
const request_id_form = /^[\x21-\x7e]{1,128}$/
const idempotency_key_form = /^[\x21-\x7e]{1,255}$/
const path_ids: Record<string, string> = { project_id: unknown_project, service_id: unknown_service }

export function newHttp(parts: Parts): FastifyInstance {
  const { log } = parts
  const app = fastify({
    logger: false,
    genReqId: requestIdOf,
    rewriteUrl: routableUrl,
    requestTimeout: receive_timeout_ms,
    return503OnClosing: false,
    // Longer than any URL can get: our own limit answers first.
    routerOptions: { maxParamLength: 8 * url_bytes_max },
    http: { requireHostHeader: false },
    clientErrorHandler: (error, socket) => answerMalformed(error, socket, randomUUID()),
  })
  app.decorateRequest('caller', undefined)
  readBodies(app)
  app.setErrorHandler((error, request, reply) => sendFault(reply, faultOf(error, request.id, log)))

  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    reply.header('cache-control', 'no-store')
    // Without a declared body there is nothing whose type could be wrong.
    const { headers } = request.raw
    const ignores_body = request.routeOptions.config.endpoint?.body === undefined
    if (ignores_body && headers['content-type'] !== undefined) delete headers['content-type']
    done(request.raw.url !== undefined && request.raw.url.length > url_bytes_max ? urlTooLong() : undefined)
  })
  tellAnswers(app, parts)

  const authenticate = async (request: FastifyRequest): Promise<Caller> => {
    const caller = await parts.authenticate(request.headers.authorization)
    if (caller === undefined) throw unauthorized()
    request.caller = caller
    return caller
  }
  serveEndpoints(app, parts.handlers, authenticate)
  serveHealth(app, parts)
  serveDocumentation(app, parts.version)
  app.setNotFoundHandler(async (request, reply) => {
    const path = request.url.split('?')[0] ?? '/'
    const allowed = ['GET', 'HEAD', 'POST', 'DELETE'].filter((method) => app.findRoute({ method, url: path }))
    // Whether a path exists below the base is told to callers only; public paths are public with every method.
    if (path.startsWith(`${base_path}/`) && !public_paths.has(path)) await authenticate(request)
    if (allowed.length === 0) throw notFound(`there is nothing at this path; the endpoints are below ${base_path}`)
    reply.header('allow', allowed.join(', '))
    throw new Fault('METHOD_NOT_ALLOWED', `this path accepts ${allowed.join(', ')} only`)
  })
  return app
}

/** One log line a request, and a word to those who count. */
function tellAnswers(app: FastifyInstance, { log, onAnswer }: Parts): void {
  // The fields of this line are fixed and none is secret; the censor would cost more than the rest of a request.
  const request_log = log.child({}, { redact: [] })
  app.addHook('onResponse', (request, reply, done) => {
    const { method } = request
    const { url: route } = request.routeOptions
    const { statusCode: status, elapsedTime: elapsed_ms } = reply
    onAnswer?.({ method, route: route ?? 'unknown', status, seconds: elapsed_ms / 1000 })
    request_log.info(
      {
        method,
        route,
        status,
        took_ms: Math.round(elapsed_ms * 10) / 10,
        request_id: request.id,
        public_key: request.caller?.public_key,
      },
      'request',
    )
    done()
  })
}

type Authenticate = (request: FastifyRequest) => Promise<Caller>

function serveEndpoints(app: FastifyInstance, handlers: Handlers, authenticate: Authenticate): void {
  for (const name of Object.keys(api) as EndpointName[]) {
    const endpoint: Endpoint = api[name]
    const parse = newParser(endpoint)
    // The table types each handler by its row; inside this loop the row is any of them.
    const handler = handlers[name] as Handler<EndpointName>
    app.route({
      method: endpoint.method,
      url: base_path + endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { endpoint },
      schema: endpoint.output === undefined ? {} : { response: { [endpoint.success]: plainSchema(endpoint.output) } },
      onRequest: async (request) => {
        if (endpoint.access !== 'public') admit(endpoint, paramsOf(request), await authenticate(request))
      },
      handler: async (request, reply) => {
        // What parse returns has the row's types: the schemas that made those types have checked it.
        const output = await handler(parse(request) as Parameters<typeof handler>[0])
        return reply.code(endpoint.success).send(endpoint.output && output)
      },
    })
  }
}

/** Refuses a caller who may not do this here. A project that is not theirs does not exist for them. */
function admit(endpoint: Endpoint, params: Record<string, string>, caller: Caller): void {
  const { access } = endpoint
  if (access !== 'caller' && access !== 'public') {
    if (params['project_id'] !== caller.project.id) throw notFound(unknown_project)
    if (!roleAllows(caller.role, access)) {
      throw new Fault('FORBIDDEN', `your role in this project is ${caller.role}; this needs at least ${access}`)
    }
  }
  for (const [name, id] of Object.entries(params)) {
    if (!id_form.test(id)) throw notFound(path_ids[name] ?? 'no such thing exists')
  }
}

/** Turns a request into what its handler gets, or throws a fault that lists every invalid field. */
function newParser(endpoint: Endpoint) {
  const body_check = endpoint.body && newCheck(endpoint.body, body_validator)
  const query_check = endpoint.query && newCheck(endpoint.query, query_validator)
  return (request: FastifyRequest) => {
    const idempotency_key = endpoint.idempotent ? request.headers['idempotency-key'] : undefined
    const problems: string[] = []
    if (idempotency_key !== undefined && !idempotency_key_form.test(String(idempotency_key))) {
      problems.push('the header Idempotency-Key: must be 1 to 255 visible ASCII characters')
    }
    if (query_check !== undefined) problems.push(...query_check(request.query, 'query'))
    if (body_check !== undefined && request.body === undefined) problems.push('/: a JSON body is required')
    else if (body_check !== undefined) problems.push(...body_check(request.body, ''))
    if (problems.length > 0) throw invalidRequest(problems)
    return {
      caller: request.caller,
      params: request.params,
      query: endpoint.query && request.query,
      body: endpoint.body && declaredOf(endpoint.body, request.body),
      idempotency_key,
      request_id: request.id,
    }
  }
}

/** The members that the schema names: what is ignored is gone before anybody can stumble over it. */
function declaredOf(schema: TSchema, body: unknown): unknown {
  const names = Object.keys(objectOf(schema).properties ?? {})
  const members = Object.entries(body ?? {}).filter(([name]) => names.includes(name))
  return Object.fromEntries(members)
}

const formats = { 'date-time': fullFormats['date-time'], name: (name: string) => nameProblem(name) === undefined }
// Bodies are taken as they are. A query is text by nature, so numbers and lists are read out of it.
const body_validator = new Ajv2020({ allErrors: true, formats: { ...formats, password: true } })
const query_validator = new Ajv2020({ allErrors: true, formats, coerceTypes: 'array' })

function newCheck(schema: TSchema, validator: Ajv2020) {
  const validate = validator.compile(plainSchema(schema))
  return (value: unknown, where: string): string[] => (validate(value) ? [] : problemsOf(validate.errors ?? [], where))
}

const public_paths = new Set([`${base_path}/openapi.json`, `${base_path}/ca.pem`])

function serveHealth(app: FastifyInstance, { ready, ca_pem, version }: Parts): void {
  app.get('/healthz', async () => ({ status: 'ok', version }))
  app.get('/readyz', async () => {
    const reason = await ready()
    if (reason !== undefined) throw new Fault('UNAVAILABLE', reason, { retry_after_seconds: 1 })
    return { status: 'ready' }
  })
  app.get(`${base_path}/ca.pem`, async (_request, reply: FastifyReply) =>
    reply.type('application/x-pem-file').send(ca_pem),
  )
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

function paramsOf(request: FastifyRequest): Record<string, string> {
  // Every value in a path is text; the router adds nothing else.
  return request.params as Record<string, string>
}

const unauthorized = (): Fault =>
  new Fault('UNAUTHORIZED', 'send a valid token in the header Authorization: Bearer <public_key>.<secret_key>')

const urlTooLong = (): Fault => new Fault('INVALID_REQUEST', url_too_long)
