// Forms that a browser sends: reading them, and knowing that they come from a page of ours. A random cookie and a hash
// of it in the form must fit together: another site can make a browser send a form, but not read the cookie; and
// browsers that say where a request comes from are believed when it is from elsewhere.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isAscii } from 'node:buffer'
import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Fault } from '#contract/fault.ts'
import { readBytes } from '../http/body.ts'
import { malformedNames } from '../http/text.ts'
import { newRandomText, random_text_form } from '../random-text.ts'
import { cookieOf, cookieValues } from './cookie.ts'

export type Form = ReadonlyMap<string, string>

const csrf_cookie = 'howdah_csrf'

/** In this scope bodies are forms and nothing else. */
export function readForms(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage): Promise<Form> => {
    const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
    if (type !== 'application/x-www-form-urlencoded') {
      throw new Fault('UNSUPPORTED_MEDIA_TYPE', 'Send this page’s own form.')
    }
    const bytes = await readBytes(payload)
    const text = bytes.toString('latin1')
    const [malformed] = isAscii(bytes) ? malformedNames(text) : ['']
    if (malformed !== undefined) throw notText(malformed)
    // A field that comes twice counts once: the first.
    const form = new Map<string, string>()
    for (const [name, value] of new URLSearchParams(text)) if (!form.has(name)) form.set(name, value)
    return form
  })
}

/** The form's fields; throws unless it comes from a page that this server sent to this browser. */
export function formOf(request: FastifyRequest, purpose: string): Form {
  const form = request.body instanceof Map ? (request.body as Form) : new Map<string, string>() // readForms made it
  const site = request.headers['sec-fetch-site']
  const from_elsewhere = site !== undefined && site !== 'same-origin' && site !== 'none'
  const cookie = findCookie(request)
  const given = Buffer.from(form.get('csrf') ?? '')
  const wanted = Buffer.from(cookie === undefined ? '' : tokenOf(cookie, purpose))
  const fits = cookie !== undefined && given.length === wanted.length && timingSafeEqual(given, wanted)
  if (!fits || from_elsewhere) throw notOurForm()
  return form
}

/** What the form must bring along; sets the cookie where the browser has none. purpose: each form's own. */
export function csrfFor(request: FastifyRequest, reply: FastifyReply, origin: string, purpose: string): string {
  const known = findCookie(request)
  if (known !== undefined) return tokenOf(known, purpose)
  const cookie = newRandomText()
  // For all pages: forms in several tabs share it.
  reply.header('set-cookie', cookieOf(csrf_cookie, cookie, { path: '/oauth', origin }))
  return tokenOf(cookie, purpose)
}

export const notOurForm = (): Fault =>
  new Fault('FORBIDDEN', 'This form has expired or does not come from this site. Go back, reload the page, try again.')

const notText = (name: string): Fault =>
  new Fault('INVALID_REQUEST', `The text${name === '' ? '' : ` of ${name}`} is not well-formed Unicode without NUL.`)

function tokenOf(cookie: string, purpose: string): string {
  return hash('sha256', `${cookie} ${purpose}`, 'base64url')
}

function findCookie(request: FastifyRequest): string | undefined {
  const [value] = cookieValues(request.headers.cookie, csrf_cookie)
  return value !== undefined && random_text_form.test(value) ? value : undefined
}
