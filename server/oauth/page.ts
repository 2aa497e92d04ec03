// The frame of every page that people see while they log in: plain HTML that works without scripts and loads nothing. The one script
// there is shows a password that was typed.
// Text from outside goes through `markup`, which escapes it; there is no other way in.
import type { FastifyReply } from 'fastify'
import { hash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { escaped } from '../http/html.ts'
import { tokens_css } from '../http/tokens-css.ts'

/** Text that is HTML already. */
type Html = { readonly html: string }

type Value = string | number | Html | undefined | readonly Html[]

/** Escapes every value that is not HTML itself. */
export function markup(strings: TemplateStringsArray, ...values: Value[]): Html {
  const text = strings.map((string, index) => string + textOf(values[index])).join('')
  return { html: text }
}

export function pageOf(title: string, body: Html): string {
  const page = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Howdah</title>
${style_element}
</head>
<body>
<main>
<p class="name">${mark_element}Howdah</p>
<h1>${title}</h1>
${body}
</main>
${body.html.includes('type="password"') ? script_element : undefined}
</body>
</html>
`
  return page.html
}

/** A message above a form that was not accepted; screen readers say it at once. */
export function alertOf(message: string | undefined): Html {
  return message === undefined ? markup`` : markup`<p class="alert" role="alert">${message}</p>`
}

export function hiddenInputs(values: Readonly<Record<string, string>>): Html {
  const inputs = Object.entries(values).map(
    ([name, value]) => markup`<input type="hidden" name="${name}" value="${value}" />`,
  )
  return markup`${inputs}`
}

const style = `
${tokens_css}body { margin: 0; font: 1rem/1.5 var(--font); color: var(--ink); background: var(--page) }
main { max-width: 26rem; margin: 12vh auto 2rem; padding: 0 1.25rem }
.name { display: flex; align-items: center; gap: .6rem; margin: 0 0 1.5rem; font-size: 1.1rem; font-weight: 680 }
.name svg { width: 1.75rem; height: 1.75rem }
.name rect { fill: #0b57a4 }
.name path { fill: none; stroke: #fff; stroke-width: 2.2; stroke-linejoin: round; stroke-linecap: round }
h1 { margin: 0 0 .5rem; font-size: 1.5rem; line-height: 2rem }
label { display: block; margin: 1rem 0 .35rem; font-weight: 600 }
input { box-sizing: border-box; width: 100%; padding: .6rem; font: inherit; color: inherit; background: transparent;
  border: 1px solid var(--line-strong); border-radius: var(--radius-small) }
button { margin: 1.5rem .75rem 0 0; padding: .6rem 1.2rem; font: inherit; font-weight: 600; color: var(--accent-ink);
  background: var(--accent); border: 1px solid var(--accent); border-radius: var(--radius-small); cursor: pointer }
.secret { display: block; position: relative }
.secret input { padding-right: 4.5rem }
button.show { position: absolute; right: .3rem; top: 50%; margin: 0; padding: .25rem .6rem; transform: translateY(-50%);
  font-size: .9rem; color: var(--accent); background: transparent; border-color: transparent }
button.plain { color: var(--accent); background: transparent }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
a { color: var(--accent) }
.alert { padding: .6rem .8rem; border-left: .3rem solid var(--bad); color: var(--bad); font-weight: 600 }
.hint { color: var(--muted); font-size: .9rem }
code { font-size: 1.4rem; letter-spacing: .1em }
`

/** Before a form is sent its passwords are passwords again, so that browsers offer to keep them. */
const script = `
for (const input of document.querySelectorAll('input[type=password]')) {
  const button = document.createElement('button')
  const show = (shown) => {
    input.type = shown ? 'text' : 'password'
    button.textContent = shown ? 'Hide' : 'Show'
    button.setAttribute('aria-pressed', String(shown))
  }
  button.type = 'button'
  button.className = 'show'
  button.addEventListener('click', () => show(input.type === 'password'))
  input.form.addEventListener('submit', () => show(false))
  const frame = document.createElement('span')
  frame.className = 'secret'
  input.replaceWith(frame)
  frame.append(input, button)
  show(false)
  if (input.autofocus) input.focus()
}
`

const script_element: Html = { html: `<script>${script}</script>` }

/** As in the console; the policy lets no picture be loaded. */
const mark_element: Html = {
  html: `<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7"/>
<path d="M7 13h18M9 13V9l7-3 7 3v4M10 13v6M22 13v6M6 19h20l-2 6H8z"/></svg>`,
}

const style_element: Html = { html: `<style>${style}</style>` }

// The style and the script are inline and allowed by their hashes; frames, images and connections are not allowed at all. A form may
// lead back to the command line that waits on this machine: browsers apply this list to redirects after a form, too.
const policyWith = (form_target: string) =>
  [
    `default-src 'none'`,
    `script-src 'sha256-${hash('sha256', script, 'base64')}'`,
    `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
    `form-action 'self' http://127.0.0.1:*${form_target}`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ')

/** For a page whose form leads on to this address, which the authorization server knows of the program that asked for the login. */
export function policyLeadingTo(redirect_uri: unknown): string {
  const origin = URL.parse(String(redirect_uri))?.origin ?? ''
  return policyWith(/^https?:\/\/[\w.:[\]-]+$/.test(origin) ? ` ${origin}` : '')
}

export const page_headers = {
  'content-security-policy': policyWith(''),
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
} as const

export function sendPage(reply: FastifyReply, page: string): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(page)
}

export function setPageHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(page_headers)) response.setHeader(name, value)
}

function textOf(value: Value): string {
  if (value === undefined) return ''
  if (Array.isArray(value)) return value.map((part: Html) => part.html).join('')
  // An array was dealt with above; TypeScript does not narrow readonly arrays.
  const one = value as string | number | Html
  return typeof one === 'object' ? one.html : escaped(String(one))
}
