// A tool: what an agent is told of it, and what a call of it does through the API. Promises:
// 1. A tool calls the API as its caller would, and nothing else: roles, limits, audit and validation are the API's.
// 2. What the API says is `data`. Rows, log lines and all else that other people wrote are `words`, which leave in a fence.
// 3. A password is kept for the user and is in neither.
import type { Client } from '#contract/client.ts'
import { Fault, isNotFound } from '#contract/fault.ts'
import { id_pattern } from '#contract/id.ts'
import type { Service } from '#contract/service.ts'
import type { ToolFacts } from '#contract/tool.ts'

export type Args = Readonly<Record<string, unknown>>

/** What a call works with. */
export type World = {
  client: Client
  /** All calls work in this project; undefined: each call may name another. */
  project_id: string | undefined
  /** Whether tools that change something are there. */
  writes: boolean
  /** Whether statements may write in services that are tagged PROD. */
  prod_writes: boolean
  /** Keeps the password of a new service where its user finds it; says where. */
  keepPassword: (service: Service) => Promise<string>
  /** Markdown by topic. */
  docs: () => Promise<ReadonlyMap<string, string>>
}

export type ToolAnswer = { data?: unknown; words?: string; note?: string }

export type Tool = ToolFacts & { run: (world: World, args: Args) => Promise<ToolAnswer> }

/** Of what is tagged PROD the user says the name before it is removed: to the agent's program where that can ask, else by the agent in `confirm`. */
export class Unconfirmed extends Fault {
  override readonly name = 'Unconfirmed'

  constructor() {
    super('INVALID_REQUEST', 'the service is tagged PROD: ask its user, then repeat with confirm set to its name')
  }
}

export type At = { project_id: string; service_id: string }

export function textOf(args: Args, name: string): string {
  const value = args[name]
  if (typeof value !== 'string' || value === '') throw new Fault('INVALID_REQUEST', `${name}: must be a text`)
  return value
}

/** The project that a call names, or else the only project of the caller. */
export async function projectOf({ client, project_id }: World, args: Args): Promise<string> {
  const asked = args['project_id']
  if (project_id !== undefined) {
    if (asked === undefined || asked === project_id) return project_id
    throw new Fault('FORBIDDEN', `this connection works in project ${project_id} only`)
  }
  if (typeof asked === 'string') return asked
  const projects = await client.listProjects({})
  const [only] = projects
  if (only !== undefined && projects.length === 1) return only.id
  const names = projects.map(({ id, name }) => `${id} (${name})`).join(', ')
  throw new Fault('INVALID_REQUEST', `project_id: say which one: ${names}`)
}

/** By id or by exact name. */
export async function placeOf(world: World, args: Args): Promise<At> {
  const project_id = await projectOf(world, args)
  const word = textOf(args, 'service_id')
  const named = await world.client.listServices({ project_id, query: { name: word } })
  // A name may look like an id, such as `production`.
  const at = { project_id, service_id: word }
  if (new RegExp(id_pattern).test(word) && (named.length === 0 || (await isThere(world, at)))) return at
  const [one] = named
  if (one !== undefined && named.length === 1) return { project_id, service_id: one.service_id }
  const ids = named.map(({ service_id }) => service_id).join(', ')
  throw new Fault(
    'NOT_FOUND',
    ids === '' ? `no service is called ${word}` : `several services are called ${word}: ${ids}`,
  )
}

async function isThere({ client }: World, at: At): Promise<boolean> {
  try {
    await client.getService(at)
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}
