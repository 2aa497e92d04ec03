// The program that test/oauth/documents.test.ts runs on a host of its own making: a site with documents of programs on the internet, an
// installation that reads them, and a user who logs in for each of them. It prints what the user saw and which documents were asked for, as JSON.
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { startInRegion } from '#test/http/region.ts'
import { newBrowser, type Page } from './browser.ts'
import { codeFrom, openPeople, postToken } from './people.ts'

const [folder = '', first = '', ...others] = process.argv.slice(2)
const redirect_uri = 'http://localhost:7777/done'
const visits: string[] = []

const site = createServer(
  { cert: readFileSync(join(folder, 'certificate.pem')), key: readFileSync(join(folder, 'key.pem')) },
  ({ headers, url = '' }, response) => {
    const client_id = `https://${headers.host}${url}`
    visits.push(client_id)
    const document = { client_id, client_name: 'Inspector', redirect_uris: [redirect_uri] }
    const grant_types = ['authorization_code', 'refresh_token']
    const said: Record<string, object> = {
      '/program.json': { ...document, grant_types, token_endpoint_auth_method: 'none' },
      '/of-another.json': { ...document, client_id: 'https://agent.example:8443/program.json' },
      '/large.json': { ...document, extra: 'x'.repeat(70_000) },
      '/leads-elsewhere.json': { ...document, redirect_uris: ['http://agent.example/cb'] },
      '/secret.json': { ...document, token_endpoint_auth_method: 'client_secret_basic' },
    }
    const text = said[url]
    if (text === undefined) response.writeHead(302, { location: '/program.json' }).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(text))
  },
)
site.listen(8443)
await once(site, 'listening')
const howdah = await startInRegion({ config: { mcp_registration: 'on' } })
const people = await openPeople(howdah)
try {
  const refused: Record<string, string> = {}
  for (const client_id of others) refused[client_id] = wordsOf(await newBrowser().get(askFor(client_id).url))
  console.log(JSON.stringify({ supported: await discovered(), ...(await logIn(first)), refused, visits }))
} finally {
  await people.close()
  await howdah.stop()
  site.close()
}

async function discovered(): Promise<unknown> {
  const found = await fetch(`${howdah.server.public_url}/.well-known/oauth-authorization-server/oauth`)
  return ((await found.json()) as Record<string, unknown>)['client_id_metadata_document_supported']
}

async function logIn(client_id: string) {
  const person = await people.newPerson('developer')
  const browser = newBrowser()
  const asked = askFor(client_id)
  const form = await browser.follow(await browser.get(asked.url))
  const confirm = await browser.submit(form, { email: person.email, password: person.password })
  const code = codeFrom(await browser.submit(confirm), asked)
  const { code_verifier } = asked
  const traded = { grant_type: 'authorization_code', client_id, code, redirect_uri, code_verifier }
  const { access_token } = (await postToken(howdah.server.public_url, traded)).body
  const authorization = `Bearer ${access_token}`
  const headers = {
    authorization,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
  const tools = await (await fetch(`${howdah.server.public_url}/mcp`, { method: 'POST', headers, body })).text()
  const { status: api } = await fetch(`${howdah.server.api_url}/projects`, { headers: { authorization } })
  return { asks: wordsOf(confirm), tools, api }
}

function askFor(client_id: string) {
  const { public_url } = howdah.server
  const [code_verifier, state] = [randomBytes(32).toString('base64url'), randomBytes(8).toString('hex')]
  const code_challenge = createHash('sha256').update(code_verifier).digest('base64url')
  const challenge = { code_challenge, code_challenge_method: 'S256' }
  const asked = { client_id, response_type: 'code', redirect_uri, scope: 'read', state, resource: `${public_url}/mcp` }
  const url = `${public_url}/oauth/auth?${new URLSearchParams({ ...asked, ...challenge })}`
  return { url, redirect_uri, code_verifier, state }
}

/** As people read them. */
function wordsOf({ status, text }: Page): string {
  const words = text.replaceAll(/<(style|head)\b.*?<\/\1>/gs, '').replaceAll(/<[^>]+>/g, '')
  return `${status} ${words.replaceAll(/\s+/g, ' ')}`
}
