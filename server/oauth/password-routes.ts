// The pages on which people change their password, or set it by a one-time link. A change needs the password until now, under the
// same limits and with the same answers as a login, and no session.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Fault } from '#contract/fault.ts'
import { addressOf } from '../http/admission.ts'
import { random_text_form } from '../random-text.ts'
import { changePassword, findLinkUser, set_password_path, setPasswordByLink } from './accounts.ts'
import { attemptPassword, emailIn } from './attempt.ts'
import { csrfFor, formOf } from './form.ts'
import type { OauthParts } from './oauth-parts.ts'
import { sendPage } from './page.ts'
import { changePasswordPage, passwordDonePage, setPasswordPage } from './pages.ts'
import { passwordProblem } from './password.ts'

const change_path = '/oauth/password'

export function servePasswords(scope: FastifyInstance, parts: OauthParts): void {
  const config = { reads_forms: true } as const
  scope.get(change_path, async (request, reply) => showChange(parts, request, reply, {}))
  scope.post(change_path, { config }, (request, reply) => change(parts, request, reply))
  scope.get(set_password_path, async (request, reply) => {
    const token = tokenOf((request.query as Record<string, unknown>)['token']) // Fastify parses it so
    return showSet(parts, request, reply, { token })
  })
  scope.post(set_password_path, { config }, (request, reply) => set(parts, request, reply))
}

async function change(parts: OauthParts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const form = formOf(request, change_path)
  const email = emailIn(form)
  const new_password = form.get('new_password') ?? ''
  const problem = passwordProblem(new_password, email)
  if (problem !== undefined) return showChange(parts, request, reply.code(400), { email, message: problem })
  const tried = await attemptPassword(parts, reply, form, addressOf(request))
  if ('refused' in tried) return showChange(parts, request, reply, { email, message: tried.message })
  await changePassword(parts.db, tried.user_id, await parts.passwords.newVerifier(new_password))
  parts.forget()
  return sendPage(reply, passwordDonePage())
}

async function set(parts: OauthParts, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const form = formOf(request, set_password_path)
  const token = tokenOf(form.get('token'))
  const new_password = form.get('new_password') ?? ''
  // Looked at first, so that a stranger cannot make the server compute for nothing.
  const email = await findLinkUser(parts.db, token)
  if (email === undefined) throw unknownLink()
  const problem = passwordProblem(new_password, email)
  if (problem !== undefined) return showSet(parts, request, reply.code(400), { token, message: problem })
  if (!(await setPasswordByLink(parts.db, token, await parts.passwords.newVerifier(new_password)))) throw unknownLink()
  parts.forget()
  return sendPage(reply, passwordDonePage())
}

async function showChange(
  parts: OauthParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { email = '', message }: { email?: string; message?: string },
): Promise<FastifyReply> {
  const csrf = csrfFor(request, reply, parts.origin(), change_path)
  return sendPage(reply, changePasswordPage({ csrf, email, message }))
}

async function showSet(
  parts: OauthParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { token, message }: { token: string; message?: string },
): Promise<FastifyReply> {
  const email = await findLinkUser(parts.db, token)
  if (email === undefined) throw unknownLink()
  const csrf = csrfFor(request, reply, parts.origin(), set_password_path)
  // The address contains the token: not even our own pages are told it.
  reply.header('referrer-policy', 'no-referrer')
  return sendPage(reply, setPasswordPage({ csrf, email, token, message }))
}

function tokenOf(text: unknown): string {
  if (typeof text === 'string' && random_text_form.test(text)) return text
  throw unknownLink()
}

const unknownLink = (): Fault =>
  new Fault('NOT_FOUND', 'This link was used already or has expired. Ask an administrator for a new one.')
