// Logging in: the pages between the moment a program sends its user here and the moment they go back to it.
// 1. Which login a request belongs to is told by the authorization server's own cookie, never by the path alone; and it
//    must come from the browser that began it (login-browser.ts).
// 2. Where a page leads to afterwards is what the authorization server wrote down itself: no redirect comes from a form.
// 3. Our own programs are granted exactly what is missing. The command line asks first, unless its user has just logged
//    in, or has just confirmed a device's code: any program on this machine could pretend to be it.
//    A program that registered itself, or that a document describes, always asks, and its page says where its user is sent.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { InteractionResults } from 'oidc-provider'
import { Fault, type FaultCode } from '#contract/fault.ts'
import { addressOf } from '../http/admission.ts'
import { insertLogin } from '../audit/store.ts'
import { noteLogin } from './accounts.ts'
import { attemptPassword, emailIn } from './attempt.ts'
import type { ExternalLogin } from './external-login.ts'
import { console_client_id, isOurs } from './clients.ts'
import { csrfFor, type Form, formOf } from './form.ts'
import { isBound, loginPathOf, rebindLogin } from './login-browser.ts'
import type { OauthParts } from './oauth-parts.ts'
import { policyLeadingTo, sendPage } from './page.ts'
import { confirmPage, elsewherePage, loginPage } from './pages.ts'
import type { Provider } from './provider.ts'
import { removeSessionNamed } from './records.ts'
import { keepProgram } from './registered.ts'
import { findUser } from './users.ts'

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>

/** One login under way. */
export type Login = {
  parts: OauthParts
  provider: Provider
  interaction: Interaction
  request: FastifyRequest
  reply: FastifyReply
}

export const login_path = loginPathOf(':uid')
export const uid_form = /^[\w-]{20,64}$/

export function serveLogin(scope: FastifyInstance, parts: OauthParts): void {
  scope.get(login_path, async (request, reply) => {
    const login = await openLogin(parts, request, reply)
    if (login.interaction.prompt.name !== 'login') return askConsent(login)
    return parts.external === undefined ? showLogin(login, {}) : sendElsewhere(login, parts.external)
  })
  scope.post(login_path, { config: { reads_forms: true } }, async (request, reply) => {
    const login = await openLogin(parts, request, reply)
    const form = formOf(request, login.interaction.uid)
    if (form.get('decision') === 'deny') return refuse(login)
    if (login.interaction.prompt.name !== 'login') return grant(login)
    if (parts.external !== undefined) throw expired()
    return logIn(login, form)
  })
}

export async function openLogin(parts: OauthParts, request: FastifyRequest, reply: FastifyReply): Promise<Login> {
  const provider = await parts.provider()
  const interaction = await provider.interactionDetails(request.raw, reply.raw).catch((error: unknown) => {
    throw error instanceof Error && error.name === 'SessionNotFound' ? expired() : error
  })
  const { uid } = request.params as { uid: string } // the route's own
  if (interaction.uid !== uid || !(await isBound(parts.db, uid, request.headers.cookie))) throw expired()
  return { parts, provider, interaction, request, reply }
}

/** The login succeeded for this user; the authorization server goes on. */
export async function finishLogin(login: Login, user_id: number): Promise<FastifyReply> {
  const { interaction, parts, request, reply } = login
  const account_id = String(user_id)
  const cookies = await rebindLogin(parts.db, interaction, request.headers.cookie, parts.origin())
  if (cookies === undefined) throw expired()
  reply.header('set-cookie', cookies)
  // Another user was logged in with this browser: that session ends here.
  if (interaction.session !== undefined && interaction.session.accountId !== account_id) {
    await removeSessionNamed(parts.db, interaction.session.uid)
    delete interaction.session
    await interaction.persist()
  }
  await noteLogin(parts.db, user_id)
  await record(login, { user_id, status: 200, code: null })
  const { params } = interaction
  parts.log.info({ ...factsOf(login), user_id: account_id, client_id: params['client_id'] }, 'user logged in')
  // Not remembered: the cookie ends with the browser.
  return finish(login, { login: { accountId: account_id, remember: false } })
}

export const expired = (): Fault =>
  new Fault('NOT_FOUND', 'This login has expired or was finished already. Begin again where you came from.')

async function showLogin(
  login: Login,
  { email = '', message }: { email?: string; message?: string },
): Promise<FastifyReply> {
  return sendForm(login, loginPage({ ...(await formParts(login)), email, message }))
}

/** What the pages of a login have in common. */
const formParts = async ({ parts, provider, interaction, request, reply }: Login) => ({
  client_name: await clientNameOf(provider, interaction),
  action: loginPathOf(interaction.uid),
  csrf: csrfFor(request, reply, parts.origin(), interaction.uid),
})

/** The form may lead back to the program that asked. */
const sendForm = ({ reply, interaction }: Login, page: string): FastifyReply =>
  sendPage(reply.header('content-security-policy', policyLeadingTo(interaction.params['redirect_uri'])), page)

async function sendElsewhere({ interaction, reply }: Login, external: ExternalLogin): Promise<FastifyReply> {
  const url = await external.begin(interaction.uid)
  if (interaction.deviceCode === undefined) return reply.redirect(url, 303)
  // A form led here, and browsers follow forms to nowhere but this site: people follow a link.
  return sendPage(reply, elsewherePage({ issuer: external.issuer, url }))
}

async function logIn(login: Login, form: Form): Promise<FastifyReply> {
  const { parts, request, reply } = login
  const email = emailIn(form)
  const tried = await attemptPassword(parts, reply, form, addressOf(request))
  if ('user_id' in tried) return finishLogin(login, tried.user_id)
  const { refused, message } = tried
  parts.log.warn(factsOf(login), `login refused: ${refused}`)
  // Not waited for: how long it takes would tell whether there is such a user.
  if (refused === 'wrong e-mail or password') void record(login, { email, status: 403, code: 'FORBIDDEN' })
  return showLogin(login, { email, message })
}

type Outcome = { status: number; code: FaultCode | null } & ({ user_id: number } | { email: string })

/** In the audit log; where the store cannot take it, the line in the server's log is all there is. */
async function record(login: Login, outcome: Outcome): Promise<void> {
  try {
    await insertLogin(login.parts.db, { ...outcome, ...factsOf(login) })
  } catch (error) {
    login.parts.log.error({ ...factsOf(login), err: error }, 'a login could not be stored in the audit log')
  }
}

/** Without the typed text: people type passwords into the wrong field. */
const factsOf = ({ request }: Login) => ({ request_id: request.id, address: addressOf(request) })

async function askConsent(login: Login): Promise<FastifyReply> {
  const { parts, provider, interaction } = login
  const client = await provider.Client.find(String(interaction.params['client_id']))
  const has_just_agreed = interaction.lastSubmission?.['login'] !== undefined || interaction.deviceCode !== undefined
  const returns_to = returnsTo(interaction)
  if (returns_to === undefined && (client?.clientId === console_client_id || has_just_agreed)) return grant(login)
  const user = await findUser(parts.db, Number(interaction.session?.accountId))
  const way = returns_to === undefined ? {} : { returns_to, writes: wantsToWrite(interaction) }
  return sendForm(login, confirmPage({ ...(await formParts(login)), email: user?.email ?? '', ...way }))
}

async function grant(login: Login): Promise<FastifyReply> {
  const { parts, provider, interaction } = login
  const { grantId, session, params, prompt } = interaction
  if (session === undefined) throw expired()
  const known = grantId === undefined ? undefined : await provider.Grant.find(grantId)
  const given = known ?? new provider.Grant({ accountId: session.accountId, clientId: String(params['client_id']) })
  // The shape of these details is the library's documented one.
  const missing = prompt.details as {
    missingOIDCScope?: string[]
    missingOIDCClaims?: string[]
    missingResourceScopes?: Record<string, string[]>
  }
  if (missing.missingOIDCScope) given.addOIDCScope(missing.missingOIDCScope.join(' '))
  if (missing.missingOIDCClaims) given.addOIDCClaims(missing.missingOIDCClaims)
  for (const [resource, scopes] of Object.entries(missing.missingResourceScopes ?? {})) {
    given.addResourceScope(resource, scopes.join(' '))
  }
  if (returnsTo(interaction) !== undefined) await keepProgram(parts.db, String(params['client_id']))
  return finish(login, { consent: { grantId: await given.save() } })
}

async function refuse(login: Login): Promise<FastifyReply> {
  return finish(login, { error: 'access_denied', error_description: 'the user refused' })
}

async function finish({ provider, request, reply }: Login, result: InteractionResults): Promise<FastifyReply> {
  return reply.redirect(await provider.interactionResult(request.raw, reply.raw, result), 303)
}

/** Of a program that registered itself: whom its user is sent to. */
function returnsTo({ params }: Interaction): string | undefined {
  return isOurs(String(params['client_id'])) ? undefined : new URL(String(params['redirect_uri'])).host
}

const wantsToWrite = ({ params }: Interaction) => String(params['scope']).split(' ').includes('write')

async function clientNameOf(provider: Provider, interaction: Interaction): Promise<string> {
  const client_id = String(interaction.params['client_id'])
  const client = await provider.Client.find(client_id)
  if (returnsTo(interaction) === undefined) return client?.clientName ?? 'Howdah'
  // The address of its document is the one thing about it that is proved.
  const site = URL.parse(client_id)?.host
  return `a program${site === undefined ? '' : ` of ${site}`} that calls itself “${client?.clientName ?? 'unnamed'}”`
}
