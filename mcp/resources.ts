// What an agent can read by address: what the installation can do, its API, the documentation, and services. No network but the API's.
import { newOpenApi } from '#contract/openapi.ts'
import { Fault, notFound } from '#contract/fault.ts'
import { fenced, resultOf } from './fence.ts'
import { answerOf, describeSchema } from './sql-tools.ts'
import { projectOf, type World } from './tool.ts'

type Resource = { uri: string; name: string; description: string; mimeType: string }
type Template = Omit<Resource, 'uri'> & { uriTemplate: string }
type Contents = { uri: string; mimeType: string; text: string }

const json = 'application/json'
const service = 'howdah://projects/{project_id}/services/{service_id}'

export const resource_templates: readonly Template[] = [
  { uriTemplate: service, name: 'service', description: 'A service as it is.', mimeType: 'text/plain' },
  { uriTemplate: `${service}/events`, name: 'events', description: 'What happened to it.', mimeType: 'text/plain' },
  { uriTemplate: `${service}/schema`, name: 'schema', description: 'Its tables and columns.', mimeType: 'text/plain' },
]

export async function listResources(world: World): Promise<Resource[]> {
  const topics = [...(await world.docs()).keys()]
  return [
    {
      uri: 'howdah://capabilities',
      name: 'capabilities',
      description: 'What this installation can do.',
      mimeType: json,
    },
    { uri: 'howdah://openapi', name: 'openapi', description: 'The API.', mimeType: json },
    ...topics.map((topic) => ({
      uri: `howdah://docs/${topic}`,
      name: `docs: ${topic}`,
      description: 'Of the documentation.',
      mimeType: 'text/markdown',
    })),
  ]
}

export async function readResource(world: World, uri: string): Promise<Contents[]> {
  const { text, mimeType } = await contentsOf(world, uri)
  return [{ uri, mimeType, text }]
}

async function contentsOf(world: World, uri: string): Promise<{ text: string; mimeType: string }> {
  const asJson = (value: unknown) => ({ text: JSON.stringify(value), mimeType: json })
  const asText = (data: unknown) => ({
    text: resultOf({ data })
      .content.map((one) => one.text)
      .join('\n'),
    mimeType: 'text/plain',
  })
  const unknown = () => notFound('there is no resource at this address; list resources and their templates')
  const { client } = world
  if (uri === 'howdah://capabilities') return asJson(await client.getCapabilities({}))
  if (uri === 'howdah://openapi') return asJson(newOpenApi((await client.getCapabilities({})).version))
  const topic = /^howdah:\/\/docs\/([a-z0-9-]+)$/.exec(uri)?.[1]
  const page = topic && (await world.docs()).get(topic)
  if (page) return { text: page, mimeType: 'text/markdown' }
  const place = /^howdah:\/\/projects\/([a-z0-9]{10})\/services\/([a-z0-9]{10})(\/events|\/schema)?$/.exec(uri)
  if (place === null) throw unknown()
  const [, asked = '', service_id = '', part] = place
  const at = { project_id: await projectOf(world, { project_id: asked }), service_id }
  if (part === '/events') return asText(await client.listServiceEvents(at))
  if (part === undefined) return asText(await client.getService(at))
  const schema = await client.runQuery({ ...at, body: describeSchema }).catch((error: unknown) => {
    // The message may be what a function of the tenant raises.
    throw error instanceof Fault ? new Fault(error.code, fenced(error.message)) : error
  })
  return { text: fenced(answerOf(schema).words ?? ''), mimeType: 'text/plain' }
}
