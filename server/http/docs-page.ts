// The documentation as one HTML page, derived from the contract's table. Pure. Self-contained: no script, no outside
// resource, readable in light and dark, by keyboard and by screen reader. Everything inserted is escaped.
import type { TSchema } from 'typebox'
import { api, base_path } from '#contract/api.ts'
import { type Endpoint, type Follows, isRole } from '#contract/endpoint.ts'
import { exampleOf, factsOf } from '#contract/example.ts'
import { fault_status } from '#contract/fault.ts'
import { path_ids } from '#contract/id.ts'
import { faultsOf, objectOf, pathParametersOf } from '#contract/openapi.ts'
import { Type } from '#contract/type.ts'
import { docsHead } from './docs-head.ts'
import { escaped as text } from './html.ts'

export function newDocsPage(version: string): string {
  // What a reader comes for stands first; the rest in the order of the table.
  const rows = Object.entries<Endpoint>(api).toSorted(([, one], [, other]) => rankOf(one) - rankOf(other))
  const by_tag = Map.groupBy(rows, ([, endpoint]) => endpoint.tag)
  const links = [...by_tag].map(
    ([tag, rows]) =>
      `<li><strong>${text(tag)}</strong><ul>${rows
        .map(([name, endpoint]) => `<li><a href="#${text(name)}">${text(endpoint.summary)}</a></li>`)
        .join('')}</ul></li>`,
  )
  const groups = [...by_tag].map(
    ([tag, rows]) =>
      `<section aria-label="${text(tag)}"><h2>${text(tag)}</h2>${rows
        .map(([name, endpoint]) => endpointPart(name, endpoint))
        .join('')}</section>`,
  )
  return `${docsHead('Howdah API')}
<body>
<a class="skip" href="#content">Skip to the endpoints</a>
<header><h1>Howdah API</h1><p>Version ${text(version)} · <a href="/docs">Guides and search</a> · <a href="${base_path}/openapi.json">OpenAPI 3.1</a> ·
<a href="${base_path}/ca.pem">CA certificate</a><span class="narrow"> · <a href="#endpoints">All endpoints</a></span></p></header>
<div class="columns">
<nav aria-label="Endpoints" id="endpoints"><ul>${links.join('')}</ul></nav>
<main id="content">
${introduction}
${idsPart()}
${groups.join('\n')}
${faultsPart()}
</main>
</div>
</body>
</html>
`
}

const rankOf = ({ tag }: Endpoint) => (tag === 'Services' ? 0 : 1)

const introduction = `<section aria-label="Basics"><h2>Basics</h2>
<p>All paths are below <code>${base_path}</code>. Bodies are JSON. Every request carries a personal access token, or the access token of a user who has logged in:
<code>Authorization: Bearer &lt;public_key&gt;.&lt;secret_key&gt;</code>. Operations that take time answer at once with a
transitional <code>status</code>; read the service again until it is <code>READY</code>. Every answer has
<code>X-Request-Id</code>. The examples expect <code>BASE_URL</code>, <code>TOKEN</code>, <code>PROJECT_ID</code> and
<code>SERVICE_ID</code> in the environment.</p>
<p>Some lists go on: with <code>Accept: text/event-stream</code> the answer is a stream of server-sent events, the list first,
oldest entry first, and then each entry as it comes, with a comment now and then while there is none. A stream that was
interrupted is resumed by <code>Last-Event-ID</code>, the id of its last event, without gap or repeat. An event
<code>fault</code> carries an error and is the last one.</p>
<p>A member of a body or a query parameter that an endpoint does not know is refused, and the answer names the
most similar known one.</p></section>`

function endpointPart(name: string, endpoint: Endpoint): string {
  const { method, path, summary, description, access, accepts } = endpoint
  const facts = [
    isRole(access) ? `Role: ${access} or higher.` : undefined,
    access === 'user' ? 'For users who have logged in.' : undefined,
    access === 'public' ? 'Needs no credential.' : undefined,
    accepts === undefined ? undefined : `Possible while the service is ${accepts.map(statusInWords).join(', ')}.`,
    endpoint.interrupts ? 'Open connections end, or logins that worked do not any more.' : undefined,
    endpoint.follows === undefined ? undefined : follows_in_words[endpoint.follows],
    endpoint.idempotent ? 'Takes an Idempotency-Key: a repeated request gets the first answer.' : undefined,
    endpoint.streams ? 'With Accept: text/event-stream the list goes on as server-sent events.' : undefined,
  ].filter((fact) => fact !== undefined)
  return `<article id="${text(name)}" aria-labelledby="${text(name)}-title">
<h3 id="${text(name)}-title">${text(summary)}</h3>
<p class="call"><span class="method ${method.toLowerCase()}">${method}</span> <code>${text(path)}</code></p>
${description === undefined ? '' : `<p>${inline(description)}</p>`}
${facts.length === 0 ? '' : `<p class="facts">${text(facts.join(' '))}</p>`}
${fieldsPart('Query', endpoint.query, input_marks)}
${fieldsPart('Request body', endpoint.body, input_marks)}
${outputPart(endpoint)}
<p>Errors: ${faultsOf(endpoint)
    .map((code) => `<a href="#${code}"><code>${code}</code></a>`)
    .join(', ')}</p>
<details><summary>Example</summary><pre tabindex="0"><code>${text(requestOf(endpoint))}</code></pre>
${answerOf(endpoint)}</details>
</article>`
}

const follows_in_words: Record<Follows, string> = {
  service: 'Asynchronous: read the service until nothing is under way any more.',
  replica_set: 'Asynchronous: read the replica set until it is active.',
  snapshot: 'Asynchronous: list the snapshots until it is complete.',
  gone: 'Asynchronous: it is 404, and in no list, when nothing of it is left.',
}

function statusInWords(status: string): string {
  return status === 'stuck' ? 'CONFIGURING with a setback' : status
}

/** Once for all endpoints: the same name means the same in every path. */
function idsPart(): string {
  const schemas = Object.entries(path_ids).map(([name, { schema }]) => [name, schema])
  return `<section aria-label="Ids"><h2>Ids in paths</h2>
${fieldsPart('Ids', Type.Object(Object.fromEntries(schemas)), output_marks)}</section>`
}

function outputPart({ success, output }: Endpoint): string {
  if (output === undefined) return `<h4>Answer ${success}</h4><p>No body.</p>`
  const { items, properties, description = '' } = factsOf(output)
  if (items === undefined && properties === undefined) return `<h4>Answer ${success}</h4><p>${inline(description)}</p>`
  return fieldsPart(`Answer ${success}${items === undefined ? '' : ': a list of'}`, items ?? output, output_marks)
}

/** The words for a field that is always there, and for an optional one. */
type Marks = { always: string; sometimes: string }
const input_marks: Marks = { always: 'Required.', sometimes: 'Optional.' }
const output_marks: Marks = { always: '', sometimes: 'May be absent.' }

function fieldsPart(title: string, schema: TSchema | undefined, marks: Marks): string {
  if (schema === undefined) return ''
  const rows = fieldRows(schema, '', marks)
  return `<h4>${text(title)}</h4><div class="scroll" tabindex="0" role="region" aria-label="${text(title)}"><table>
<thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">About</th></tr></thead>
<tbody>${rows.join('')}</tbody></table></div>`
}

function fieldRows(schema: TSchema, prefix: string, marks: Marks): string[] {
  const { properties = {}, required = [] } = objectOf(schema)
  return Object.entries(properties).flatMap(([name, field]) => {
    const about = [required.includes(name) ? marks.always : marks.sometimes, ...aboutOf(field)].join(' ')
    const row = `<tr><th scope="row"><code>${text(prefix + name)}</code></th><td>${text(typeOf(field))}</td><td>${inline(about)}</td></tr>`
    const items: TSchema = 'items' in field ? (field.items as TSchema) : field
    return [row, ...fieldRows(items, `${prefix}${name}${items === field ? '' : '[]'}.`, marks)]
  })
}

function typeOf(schema: TSchema): string {
  const facts = factsOf(schema)
  if (facts.items !== undefined) return typeOf(facts.items) === 'any' ? 'list' : `list of ${typeOf(facts.items)}s`
  if (facts.enum !== undefined) return 'choice'
  return [facts.type ?? 'any'].flat().join(' or ')
}

function aboutOf(schema: TSchema): string[] {
  const { description, enum: values, minimum, maximum, items } = factsOf(schema)
  const said: string[] = []
  if (description !== undefined) said.push(description)
  const choices = values ?? (items && factsOf(items).enum)
  if (choices !== undefined) said.push(`One of ${choices.map((value) => `\`${value}\``).join(', ')}.`)
  if (minimum !== undefined && maximum !== undefined) said.push(`${minimum} to ${maximum}.`)
  return said
}

function requestOf(endpoint: Endpoint): string {
  const path = pathParametersOf(endpoint.path).reduce(
    (path, name) => path.replace(`{${name}}`, `$${name.toUpperCase()}`),
    endpoint.path,
  )
  const query = endpoint.query === undefined ? '' : `?${queryOf(exampleOf(endpoint.query))}`
  const lines = [`curl -X ${endpoint.method} "$BASE_URL${path}${query}"`]
  if (endpoint.access !== 'public') lines.push('-H "Authorization: Bearer $TOKEN"')
  if (endpoint.body !== undefined) {
    lines.push(`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(exampleOf(endpoint.body))}'`)
  }
  return lines.join(' \\\n  ')
}

function queryOf(example: unknown): string {
  const pairs = Object.entries(example ?? {}).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, String(one)]),
  )
  return new URLSearchParams(pairs).toString()
}

function answerOf({ success, output, output_type }: Endpoint): string {
  if (output === undefined) return ''
  const example = exampleOf(output)
  const shown = output_type === undefined ? JSON.stringify(example, null, 2) : String(example)
  return `<p>Answer ${success}:</p><pre tabindex="0"><code>${text(shown)}</code></pre>`
}

function faultsPart(): string {
  const rows = Object.entries(fault_status).map(
    ([code, status]) => `<tr id="${code}"><th scope="row"><code>${code}</code></th><td>${status}</td></tr>`,
  )
  return `<section aria-label="Errors"><h2>Errors</h2>
<p>Every error has the shape <code>{"code", "message", "details"}</code>. The message says what is wrong and what to do
next; <code>details</code> lists every invalid field at once, each with its JSON path.</p>
<table><thead><tr><th scope="col">Code</th><th scope="col">Status</th></tr></thead><tbody>${rows.join('')}</tbody></table>
</section>`
}

/** Text in which `backticks` mark code. */
function inline(value: string): string {
  return text(value).replaceAll(/`([^`]*)`/g, '<code>$1</code>')
}
