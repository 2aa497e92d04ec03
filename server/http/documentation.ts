// Serves the documentation: the guides with a search, the reference of the API and its OpenAPI document. Public, complete without the network, and
// made at the first use.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { base_path } from '#contract/api.ts'
import { notFound } from '#contract/fault.ts'
import { newOpenApi } from '#contract/openapi.ts'
import { newDocsPage } from './docs-page.ts'
import { readGuides } from './guide.ts'
import { guideList, guidePage, searchPage } from './guide-page.ts'
import { searchGuides } from './guide-search.ts'
import { lazily } from './lazily.ts'

/** A page has one style sheet inside itself, pictures of this server, and a form for the search. */
const content_security_policy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const docs_directory = join(import.meta.dirname, '..', '..', 'docs')
/** What pages show or offer, by the end of the name. */
const file_types: Readonly<Record<string, string>> = {
  png: 'image/png',
  json: 'application/json; charset=utf-8',
  yaml: 'text/yaml; charset=utf-8',
}
const file_name = /^[a-z0-9-]+\.(png|json|yaml)$/
/** Of a question, in characters. */
const question_max = 200

export function serveDocumentation(app: FastifyInstance, version: string): void {
  const openApi = lazily(() => JSON.stringify(newOpenApi(version)))
  const reference = lazily(() => newDocsPage(version))
  const guides = lazily(readGuides)
  app.get(`${base_path}/openapi.json`, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(openApi()),
  )
  app.get('/docs', async (_request, reply) => sendPage(reply, guideList(await guides(), version)))
  app.get('/docs/reference', async (_request, reply) => sendPage(reply, reference()))
  app.get<{ Querystring: { q?: unknown } }>('/docs/search', async (request, reply) => {
    const question = [request.query.q].flat().join(' ').slice(0, question_max)
    const known = await guides()
    return sendPage(reply, searchPage(known, question, searchGuides(known.values(), question), version))
  })
  app.get<{ Params: { slug: string } }>('/docs/:slug', async ({ params }, reply) => {
    const known = await guides()
    const guide = known.get(params.slug)
    if (guide === undefined) throw notFound('there is no such page; /docs lists them')
    return sendPage(reply, guidePage(known, guide, version))
  })
  for (const folder of ['pictures', 'monitoring']) {
    app.get<{ Params: { file: string } }>(`/docs/${folder}/:file`, async ({ params: { file } }, reply) => {
      const type = file_types[file_name.exec(file)?.[1] ?? '']
      const bytes = type && (await readFile(join(docs_directory, folder, file)).catch(() => undefined))
      if (!bytes) throw notFound('there is no such file; /docs lists the pages')
      return reply.type(type).send(bytes)
    })
  }
}

function sendPage(reply: FastifyReply, page: string): FastifyReply {
  return reply
    .header('content-security-policy', content_security_policy)
    .header('referrer-policy', 'no-referrer')
    .type('text/html; charset=utf-8')
    .send(page)
}
