// What a user's command is given: its input, the terminal, and the session once it asks for one.
import type { AuditClient } from '#contract/audit.ts'
import { type Command, type Input, type Options, UsageError } from '../command.ts'
import { idOf } from './ids.ts'
import { output_formats, type OutputFormat } from './output.ts'
import type { Session, Surroundings } from './session.ts'
import type { Terminal } from './terminal.ts'

export type Context = {
  input: Input
  terminal: Terminal
  around: Surroundings
  /** `as`: who the server is told that it is; the command, if left out. */
  session: (as?: AuditClient) => Promise<Session>
}

export type UserCommand = Command<Context>

/** Every user's command takes these. */
export const common_options = {
  profile: { value: 'name', description: 'The login to use; also HOWDAH_PROFILE.' },
  output: {
    value: output_formats.join('|'),
    short: 'o',
    choices: output_formats,
    description: 'How to print; also HOWDAH_OUTPUT.',
  },
  json: { description: 'The same as -o json.' },
  verbose: { description: 'With errors: the id of the request, for the server’s log.' },
  'no-input': { description: 'Ask nothing.' },
  'no-color': { description: 'Print no colours; also NO_COLOR.' },
} as const satisfies Options

export const project_option = {
  project: { value: 'project', description: 'Its id or name; also HOWDAH_PROJECT. Left out: the one there is.' },
} as const satisfies Options

/** Beside a first word that may be left out. */
export const service_option = {
  service: { value: 'service', description: 'Its id or name; also HOWDAH_SERVICE. Left out: that of howdah use.' },
} as const satisfies Options

export const yes_option = {
  yes: { short: 'y', description: 'Answer the question with yes.' },
} as const satisfies Options

export const key_option = {
  'idempotency-key': {
    value: 'text',
    description:
      'A second command with the same key and words within a day makes nothing anew: it gets the answer of the first.',
  },
} as const satisfies Options

export const wait_options = {
  'no-wait': { description: 'Return when the server has accepted it.' },
  timeout: { value: 'duration', description: 'How long to wait, such as 90s or 10m.' },
} as const satisfies Options

export function formatOf({ input }: Pick<Context, 'input'>, session?: Session): OutputFormat {
  const given = input.isSet('json') ? 'json' : (input.text('output') ?? (process.env['HOWDAH_OUTPUT'] || undefined))
  const wanted = given ?? session?.preferred('output') ?? 'table'
  const format = output_formats.find((one) => one === wanted)
  if (format === undefined) {
    const source = given === undefined ? 'the preference output' : 'HOWDAH_OUTPUT'
    throw new UsageError(`${source} must be one of ${output_formats.join(', ')}`)
  }
  return format
}

/** The id of the project that the command or a preference names, or else of the only project. */
export async function projectOf({ input }: Pick<Context, 'input'>, session: Session): Promise<string> {
  const { client, preferred } = session
  const word = input.text('project') ?? preferred('project')
  if (word !== undefined) return await idOf(client, 'project_id', word, {})
  const projects = await client.listProjects({})
  const [only, another] = projects
  if (only !== undefined && another === undefined) return only.id
  const known = projects.map(({ id, name }) => `${id} (${name})`).join(', ') || 'there is none'
  throw new UsageError(`say which project with --project: ${known}`)
}

/** As its user wrote it, or as it was chosen before. */
export function serviceWord({ input }: Pick<Context, 'input'>, { preferred }: Session): string {
  const word = input.text('service') ?? preferred('service')
  if (word !== undefined) return word
  throw new UsageError('<service> is missing; howdah use <service> chooses one for the commands that follow')
}
