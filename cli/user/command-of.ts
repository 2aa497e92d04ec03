// The commands that follow from the contract by rule, one for every endpoint: an endpoint that is added has its command at once.
// 1. Ids of the path are positionals, except the project. 2. Members of body and query are options. 3. What an endpoint leads to is waited
//    for. 4. What removes is confirmed, and so is what interrupts a service that is tagged PROD.
import { api, type EndpointName } from '#contract/api.ts'
import { commandOf, effectOf } from '#contract/command.ts'
import { type Endpoint, isRole } from '#contract/endpoint.ts'
import type { Options, Positional } from '../command.ts'
import {
  common_options,
  key_option,
  project_option,
  service_option,
  type UserCommand,
  wait_options,
  yes_option,
} from './context.ts'
import { type Extra, extras, option_names, verb_aliases } from './extras.ts'
import { optionOf } from './member.ts'
import { id_words, mayAsk, membersOf, optionNameOf, pathIdsOf } from './request-of.ts'

export type Derived = UserCommand & { endpoint: EndpointName }

export function derivedCommands(): Derived[] {
  // Object.keys forgets the names that the table's type has.
  return (Object.keys(api) as EndpointName[]).map((name) => derivedCommand(name, api[name], extras[name] ?? {}))
}

function derivedCommand(name: EndpointName, endpoint: Endpoint, extra: Extra): Derived {
  const { noun, verb } = commandOf(endpoint)
  const aliases = [...(verb_aliases[verb] ?? []), ...(extra.aliases ?? [])]
  return {
    endpoint: name,
    name: `${noun} ${verb}`,
    aliases,
    summary: `${endpoint.summary}.`,
    details: detailsOf(endpoint),
    positionals: positionalsOf(endpoint),
    options: optionsOf(endpoint, extra),
    ...(endpoint.body !== undefined && { whole: 'body' }),
    run: async (context) => {
      const { runEndpoint } = await import('./run-endpoint.ts')
      return runEndpoint({ name, endpoint, extra }, context)
    },
  }
}

function detailsOf({ description, access, accepts }: Endpoint): string {
  const who = isRole(access) ? `Needs at least the role ${access}.` : ''
  const when =
    accepts === undefined ? '' : `Possible while the service is ${accepts.filter((one) => one !== 'stuck').join(', ')}.`
  return [description, who, when].filter(Boolean).join('\n')
}

function positionalsOf(endpoint: Endpoint): Positional[] {
  const ids = pathIdsOf(endpoint).filter((name) => name !== 'project_id')
  const removed = effectOf(endpoint) === 'remove' ? ids.at(-1) : undefined
  const of_path = ids.map((name): Positional => {
    const may_be_chosen_before = name === 'service_id' && name !== removed
    return { name: id_words[name], ...(may_be_chosen_before && chosen_before) }
  })
  const has_name = membersOf(endpoint.body).some(({ name, is_required }) => name === 'name' && is_required)
  return has_name ? [...of_path, { name: 'name', or_option: true }] : of_path
}

const chosen_before = { optional: true, or_option: true } as const

function optionsOf(endpoint: Endpoint, extra: Extra): Options {
  const ids = pathIdsOf(endpoint)
  const members = [...membersOf(endpoint.body), ...membersOf(endpoint.query)]
  const shown = members.filter(({ name }) => extra.hidden?.includes(name) !== true)
  const own = shown.map(({ name, schema, is_required }) => [
    optionNameOf(name),
    {
      ...optionOf(name, schema, is_required && name !== 'name' && !isOfSize(name)),
      ...(name in option_names && { member: name }),
    },
  ])
  return {
    ...Object.fromEntries(own),
    ...extra.options,
    ...(endpoint.body !== undefined && { body: { value: 'json|@file|-', description: 'The whole body as JSON.' } }),
    ...(endpoint.follows !== undefined && extra.is_beside !== true && wait_options),
    ...(endpoint.idempotent === true && key_option),
    ...(mayAsk(endpoint) && yes_option),
    ...(positionalsOf(endpoint).some(({ name, optional }) => name === 'service' && optional) && service_option),
    ...(ids.includes('project_id') && project_option),
    ...common_options,
  }
}

/** One of a size's two members implies the other. */
function isOfSize(name: string): boolean {
  return name === 'cpu_millis' || name === 'memory_gbs'
}
