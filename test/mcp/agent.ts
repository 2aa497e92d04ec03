// An agent for tests: the official client, its login, and the tools that it should find.
import { createHash, randomBytes } from 'node:crypto'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, onTestFinished } from 'vitest'
import { newBrowser } from '#test/oauth/browser.ts'
import { codeFrom, type People, postToken } from '#test/oauth/people.ts'

type Answered = { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, string> }

/** Its program is of the older protocol, as most are, unless its user can be asked: `ask` is what that one answers. */
export async function agentAt(
  origin: string,
  token: string,
  query: string,
  ask?: (message: string) => Answered,
): Promise<Client> {
  const newer = { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: '2026-07-28' } } }
  const client = new Client({ name: 'test', version: '1' }, ask ? newer : {})
  if (ask) client.setRequestHandler('elicitation/create', async ({ params }) => ask(params.message))
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp${query}`), { requestInit }))
  onTestFinished(() => client.close())
  return client
}

export const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name)

export async function call(client: Client, name: string, args: Record<string, unknown> = {}) {
  const answer = await client.callTool({ name, arguments: args })
  const content = answer.content as { text?: string }[]
  return { ...answer, text: content.map(({ text }) => text).join('\n') }
}

/** The way of an agent's program, from the metadata to a token. */
export async function agentToken(origin: string, people: People, scope: string): Promise<string> {
  const metadata = (await (await fetch(`${origin}/.well-known/oauth-protected-resource/mcp`)).json()) as {
    resource: string
    authorization_servers: string[]
  }
  expect(metadata).toMatchObject({ resource: `${origin}/mcp`, authorization_servers: [`${origin}/oauth`] })
  const found = (await (await fetch(`${origin}/.well-known/oauth-authorization-server/oauth`)).json()) as {
    authorization_endpoint: string
  }
  const redirect_uri = 'http://127.0.0.1:45679/callback'
  const [code_verifier, state] = [randomBytes(32).toString('base64url'), randomBytes(8).toString('hex')]
  const query = {
    client_id: 'howdah-mcp',
    response_type: 'code',
    redirect_uri,
    scope,
    state,
    resource: metadata.resource,
    code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }
  const person = await people.newPerson('developer')
  const browser = newBrowser()
  const asked = {
    url: `${found.authorization_endpoint}?${new URLSearchParams(query)}`,
    redirect_uri,
    code_verifier,
    state,
  }
  const form = await browser.follow(await browser.get(asked.url))
  let page = await browser.submit(form, { email: person.email, password: person.password })
  // A program on this machine is shown to its user before it gets in.
  if (page.location === undefined) page = await browser.submit(page)
  const code = codeFrom(page, asked)
  const traded = await postToken(origin, {
    grant_type: 'authorization_code',
    client_id: 'howdah-mcp',
    code,
    redirect_uri,
    code_verifier,
    resource: metadata.resource,
  })
  return traded.body.access_token
}

export const reading_tools = [
  'list_projects',
  'list_services',
  'get_service',
  'list_service_events',
  'get_metric_series',
  'list_snapshots',
  'get_restorable',
  'get_lineage',
  'wait_for_service',
  'get_connection',
  'list_tables',
  'describe_schema',
  'explain',
  'top_statements',
  'search_logs',
  'diagnose_service',
  'run_sql',
]
export const writing_tools = [
  'create_service',
  'fork_service',
  'start_service',
  'stop_service',
  'resize_service',
  'rename_service',
  'set_environment',
  'set_ha',
  'switchover',
  'delete_service',
  'take_snapshot',
  'set_pooler',
  'try_on_fork',
]
