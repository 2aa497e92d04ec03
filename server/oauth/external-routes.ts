// The way to an outside issuer and back, as a browser goes it: the cookie of the login must come along.
import type { FastifyInstance } from 'fastify'
import { callback_path, type ExternalLogin } from './external-login.ts'
import { expired, finishLogin, login_path, openLogin, uid_form } from './login.ts'
import { loginPathOf } from './login-browser.ts'
import type { OauthParts } from './oauth-parts.ts'

export function serveExternalLogin(scope: FastifyInstance, parts: OauthParts, external: ExternalLogin): void {
  // Back from the issuer, to where the cookie of this login is sent to; the query cannot change the path.
  scope.get(callback_path, async (request, reply) => {
    const query = queryOf(request.url)
    const [uid = ''] = (query.get('state') ?? '').split('.')
    if (!uid_form.test(uid)) throw expired()
    return reply.redirect(`${loginPathOf(uid)}/external?${query}`, 303)
  })
  scope.get(`${login_path}/external`, async (request, reply) => {
    const login = await openLogin(parts, request, reply)
    if (login.interaction.prompt.name !== 'login') throw expired()
    const user_id = await external.finish(login.interaction.uid, queryOf(request.url))
    if (user_id === undefined) throw expired()
    return finishLogin(login, user_id)
  })
}

const queryOf = (url: string) => new URLSearchParams(url.split('?').slice(1).join('?'))
