// Where the authorization server hangs in ours: it gets the raw request, before any body is read. It builds addresses
// from the request's head, so everything in there that says where we are is written here, from our settings.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { Fault } from '#contract/fault.ts'
import { addressOf } from '../http/admission.ts'
import { notOurForm } from './form.ts'
import { withOwnLogin } from './login-browser.ts'
import type { OauthParts } from './oauth-parts.ts'
import { setPageHeaders } from './page.ts'

export const mount_path = '/oauth'

export function mountProvider(scope: FastifyInstance, parts: OauthParts): void {
  scope.get(`${mount_path}/jwks`, async (_request, reply) => {
    reply.type('application/jwk-set+json; charset=utf-8')
    return JSON.stringify({ keys: await parts.keys.listPublic() })
  })
  scope.route({
    method: ['GET', 'POST'],
    url: `${mount_path}/*`,
    config: { reads_forms: true },
    onRequest: (request, reply) => handOver(parts, request, reply),
    // Never reached: the answer is given above.
    handler: async () => undefined,
  })
}

async function handOver(parts: OauthParts, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const provider = await parts.provider()
  const { raw } = request
  refuseWhatWouldFail(raw, provider.cookieName('session'))
  const origin = new URL(parts.origin())
  const { path, user_code } = withoutUserCode(raw.method, raw.url ?? mount_path)
  const says = { host: origin.host, 'x-forwarded-proto': origin.protocol.slice(0, -1) }
  delete raw.headers['x-forwarded-host']
  delete raw.headers[':authority']
  // Its answers are for this site: which other one asks is none of its business.
  delete raw.headers.origin
  if (raw.headers.cookie !== undefined) raw.headers.cookie = await withOwnLogin(parts.db, raw.headers.cookie)
  Object.assign(raw.headers, says, { 'x-forwarded-for': addressOf(request), 'x-user-code': user_code })
  Object.assign(raw, { originalUrl: path, url: path.slice(mount_path.length) })
  reply.hijack()
  setPageHeaders(reply.raw)
  reply.raw.setHeader('x-request-id', request.id)
  await provider.callback()(raw, reply.raw)
}

/** What the library would answer with a page that needs a script, or with a failure of its own. */
function refuseWhatWouldFail({ method, url = '', headers }: IncomingMessage, session_cookie: string): void {
  const [place, query] = url.split('?', 2)
  const mode = new URLSearchParams(query).get('response_mode') ?? 'query'
  if (place === `${mount_path}/auth` && mode !== 'query') {
    throw new Fault('INVALID_REQUEST', 'The program that sent you here asked for an answer that is not possible here.')
  }
  // Without a session nothing can go on; only the first page and the device itself come without one.
  const is_first = ['GET /oauth/device', 'POST /oauth/device/auth'].includes(`${method} ${place}`)
  const goes_on = place?.startsWith(`${mount_path}/device`) === true && !is_first
  if (goes_on && !headers.cookie?.includes(`${session_cookie}=`)) throw notOurForm()
}

/** The library answers a link with a code in it by a script that sends it on; ours is a form that shows it. */
function withoutUserCode(method: string | undefined, path: string): { path: string; user_code: string } {
  const [place, query] = path.split('?', 2)
  if (method !== 'GET' || place !== `${mount_path}/device` || query === undefined) return { path, user_code: '' }
  const user_code = new URLSearchParams(query).get('user_code') ?? ''
  return { path: place, user_code: /^[\w -]{1,40}$/.test(user_code) ? user_code : '' }
}
