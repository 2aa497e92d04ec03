// Agents over HTTP: POST /mcp, and the two documents by which their programs find out where to log in (RFC 9728, RFC 8414).
//
// 1. A token is for this path or for the API, never for both; a personal access token works here too, within its role.
// 2. It only reads unless the user has granted the scope `write`, or asks with ?write=true with a personal access token.
//    What else is asked for in the query is refused, so that a misspelt ?read_only=true lets nothing be written.
// 3. What a tool does goes through the API's front door, as the caller.
// 4. A page of another site gets nothing: a request with an Origin that is not ours is refused.
// What speaks the protocol is loaded with the first request that is let in.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { base_path } from '#contract/api.ts'
import { newClient } from '#contract/client.ts'
import { Fault } from '#contract/fault.ts'
import { invalidRequest } from '#contract/problem.ts'
import { Type } from '#contract/type.ts'
import { addressOf, unauthorized } from '../http/admission.ts'
import { tooLarge } from '../http/errors.ts'
import type { Caller } from '../http/handler.ts'
import { newQueryCheck } from '../http/request.ts'
import type { Verifier } from '../identity/callers.ts'
import type { Tickets } from '../identity/tickets.ts'
import { mcp_path, mcp_scopes, resourceOf } from '../oauth/clients.ts'
import { issuerOf } from '../oauth/provider.ts'
import type { AccessTokenReader } from '../oauth/verifier.ts'

type Parts = {
  origin: () => string
  tokens: Verifier
  readAccessToken: AccessTokenReader
  tickets: Tickets
  version: string
}

/** write: with a token. project: with a login, whose user may be in several. read_only wins. */
const Query = Type.Object(
  {
    write: Type.Optional(Type.Boolean()),
    read_only: Type.Optional(Type.Boolean()),
    project: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
)
const checkQuery = newQueryCheck(Query)

const body_bytes_max = 256 * 1024
const metadata_path = '/.well-known/oauth-protected-resource'

export function serveMcp(app: FastifyInstance, parts: Parts): void {
  const { origin } = parts
  const describe = async () => ({
    resource: resourceOf(origin()),
    authorization_servers: [issuerOf(origin())],
    scopes_supported: mcp_scopes,
    bearer_methods_supported: ['header'],
    resource_documentation: `${origin()}/docs`,
  })
  app.get(metadata_path, describe)
  app.get(metadata_path + mcp_path, describe)
  app.get('/.well-known/oauth-authorization-server/oauth', async (_request, reply) => {
    const found = await app.inject({
      url: '/oauth/.well-known/openid-configuration',
      headers: { host: new URL(origin()).host },
    })
    return reply.code(found.statusCode).type('application/json').send(found.body)
  })
  app.route({
    method: ['GET', 'POST', 'DELETE'],
    url: mcp_path,
    // Its body is read here: it may be larger than one of the API.
    config: { reads_forms: true },
    onRequest: async (request, reply) => {
      const caller = await callerOf(parts, request).catch((error: unknown) => {
        const where = `Bearer resource_metadata="${origin()}${metadata_path}${mcp_path}"`
        if (error instanceof Fault && error.code === 'UNAUTHORIZED') return refuseWith(reply, where)
        throw error
      })
      if (caller !== undefined) await answer(app, parts, caller, request, reply)
    },
    // Never reached: the answer is given above.
    handler: async () => undefined,
  })
}

type Agent = { caller: Caller; writes: boolean; project_id: string | undefined }

async function callerOf({ origin, tokens, readAccessToken }: Parts, request: FastifyRequest): Promise<Agent> {
  const { origin: page, authorization = '' } = request.headers
  if (page !== undefined && page !== origin()) {
    throw new Fault('FORBIDDEN', 'pages of other sites get nothing here')
  }
  const token = await tokens(authorization)
  const login = token === undefined ? await readAccessToken(authorization) : undefined
  const caller = token?.value ?? login?.value
  if (caller === undefined) throw unauthorized()
  const query = parseQuery(request.query)
  const may_write = login?.scopes.includes('write') ?? query.write === true
  // A token is of one project.
  const project_id = caller.type === 'apiKey' ? caller.project.id : query.project
  return { caller, writes: may_write && query.read_only !== true, project_id }
}

function parseQuery(query: unknown): Static<typeof Query> {
  const problems = checkQuery(query, 'query')
  if (problems.length > 0) throw invalidRequest(problems)
  return query as Static<typeof Query> // the check has made it so
}

async function refuseWith(reply: FastifyReply, www_authenticate: string): Promise<undefined> {
  const { status, body } = unauthorized()
  await reply.code(status).header('www-authenticate', www_authenticate).send(body)
}

async function answer(
  app: FastifyInstance,
  { origin, tickets, version }: Parts,
  { caller, writes, project_id }: Agent,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const body = await readBody(request)
  const { answerOverHttp } = await import('#mcp/http.ts')
  const { readDocs } = await import('#mcp/docs.ts')
  const { status, headers, text } = await tickets.withTicket(caller, async (authorization) => {
    const client = newClient({
      base_url: origin() + base_path,
      headers: { authorization, 'user-agent': `howdah-mcp/${version}` },
      fetch: inProcess(app, addressOf(request)),
    })
    const keepPassword = async (service: { project_id: string; service_id: string }) =>
      `Its password was made and is not shown here. Its user sets one at ${origin()}/projects/${service.project_id}/services/${service.service_id}`
    const world = { client, project_id, writes, prod_writes: false, keepPassword, docs: readDocs }
    const response = await answerOverHttp(asRequest(request, origin(), body), { world, version })
    // The work of a call may go on after the head of its answer.
    return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() }
  })
  await reply.code(status).headers(headers).send(text)
}

function asRequest({ method, url, headers }: FastifyRequest, origin: string, body: string): Request {
  const texts = Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : []))
  return new Request(new URL(url, origin), {
    method,
    headers: Object.fromEntries(texts),
    ...(method === 'POST' && { body }),
  })
}

async function readBody({ raw }: FastifyRequest): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of raw as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > body_bytes_max) throw tooLarge()
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** The API as its callers meet it, without a socket. */
function inProcess(app: FastifyInstance, remoteAddress: string): typeof fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const answered = await app.inject({
      method: init.method === 'POST' || init.method === 'DELETE' ? init.method : 'GET',
      url: url.pathname + url.search,
      remoteAddress,
      headers: { host: url.host, ...(init.headers as Record<string, string>) }, // the client's own, which is such an object
      ...(typeof init.body === 'string' && { payload: init.body }),
    })
    const headers = Object.entries(answered.headers).map(([name, value]): [string, string] => [name, String(value)])
    const has_body = answered.statusCode !== 204 && answered.statusCode !== 304
    return new Response(has_body ? answered.body : null, { status: answered.statusCode, headers })
  }
}
