// Serves the API's own description: the OpenAPI document and a page for people, both derived from the contract's table
// and made once. Public, and complete without the network.
import type { FastifyInstance } from 'fastify'
import { base_path } from '#contract/api.ts'
import { newOpenApi } from '#contract/openapi.ts'
import { newDocsPage } from './docs-page.ts'
import { lazily } from './lazily.ts'

/** The page has one style sheet inside itself and needs nothing else. */
const content_security_policy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function serveDocumentation(app: FastifyInstance, version: string): void {
  const openApi = lazily(() => JSON.stringify(newOpenApi(version)))
  const page = lazily(() => newDocsPage(version))
  app.get(`${base_path}/openapi.json`, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(openApi()),
  )
  app.get('/docs', async (_request, reply) =>
    reply
      .header('content-security-policy', content_security_policy)
      .header('referrer-policy', 'no-referrer')
      .type('text/html; charset=utf-8')
      .send(page()),
  )
}
