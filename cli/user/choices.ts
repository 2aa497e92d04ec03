// howdah use | link | profile | config: what commands mean when they name nothing.
import { CommandError, exit_codes, UsageError } from '../command.ts'
import { type Context, formatOf, projectOf } from './context.ts'
import { saveText } from './files.ts'
import { columnsOf, output_formats, printAnswer } from './output.ts'
import {
  changeConfig,
  changePreferences,
  chosenProfile,
  findConfig,
  listCredentials,
  preference_names,
  type PreferenceName,
  saveCredentials,
} from './profile.ts'
import { serviceOf } from './service-access.ts'
import { folderContextFile, type Session } from './session.ts'
import { confirm } from './terminal.ts'

export async function runUse(context: Context): Promise<void> {
  const { input, terminal } = context
  const session = await context.session()
  const profile = profileOf(session)
  if (input.isSet('none')) {
    await changePreferences(profile, { service: undefined })
    return terminal.print('No service is chosen.')
  }
  if (input.text('service') === undefined) {
    return terminal.print(session.preferred('service') ?? 'No service is chosen; howdah use <service> chooses one.')
  }
  const service = await serviceOf(context, session)
  await changePreferences(profile, { service: service.service_id, project: service.project_id })
  terminal.print(`${service.name} (${service.service_id}) is chosen.`)
}

/** Only what exists is written. */
export async function runLink(context: Context): Promise<void> {
  const { input, terminal } = context
  const session = await context.session()
  const server = new URL(session.api_url).origin
  const named = input.text('service') ?? session.preferred('service')
  const service = named === undefined ? undefined : await serviceOf(context, session)
  if (service?.metadata.environment === 'PROD') {
    await confirm(terminal, input, `${service.name} is PROD. Shall commands in this folder mean it?`)
  }
  const project = service?.project_id ?? (await projectOf(context, session))
  const linked = { server, project, ...(service && { service: service.service_id }) }
  await saveText(folderContextFile(), `${JSON.stringify(linked, undefined, 2)}\n`)
  terminal.print(`${folderContextFile()}: ${service?.name ?? `project ${project}`} at ${server}`)
}

export async function runProfileList(context: Context): Promise<void> {
  const [all, { profiles }] = await Promise.all([listCredentials(), findConfig()])
  const in_use = await chosenProfile(undefined, undefined)
  const rows = Object.entries(all).map(([name, credentials]) => ({
    name,
    server: new URL(credentials.api_url).origin,
    login: 'token' in credentials ? 'token' : 'user',
    ...profiles[name],
    in_use: name === in_use,
  }))
  const columns = columnsOf(['name', 'server', 'login', 'project', 'service', 'in_use'])
  printAnswer(context.terminal, rows, { format: formatOf(context), columns, is_read: true })
}

export async function runProfileUse({ input, terminal }: Context): Promise<void> {
  const name = input.need('name')
  await requireProfile(name)
  await changeConfig((config) => ({ ...config, profile: name }))
  terminal.print(`The profile ${name} is in use.`)
}

export async function runProfileDelete({ input, terminal }: Context): Promise<void> {
  const name = input.need('name')
  await requireProfile(name)
  await confirm(terminal, input, `Remove the profile ${name} from this machine?`)
  await saveCredentials(name, undefined)
  await changeConfig(({ profile, profiles }) => {
    const others = Object.fromEntries(Object.entries(profiles).filter(([one]) => one !== name))
    return profile === undefined || profile === name ? { profiles: others } : { profile, profiles: others }
  })
  terminal.print(`The profile ${name} is removed.`)
}

export async function runConfigList({ input, terminal }: Context): Promise<void> {
  const profile = await chosenProfile(input.text('profile'), undefined)
  const { profiles } = await findConfig()
  const lines = Object.entries(profiles[profile] ?? {}).map(([name, value]) => `${name}=${value}`)
  if (lines.length > 0) terminal.print(lines.join('\n'))
}

export async function runConfigGet({ input, terminal }: Context): Promise<number> {
  const profile = await chosenProfile(input.text('profile'), undefined)
  const value = (await findConfig()).profiles[profile]?.[preferenceOf(input.need('key'))]
  if (value === undefined) return exit_codes.failed
  terminal.print(value)
  return exit_codes.done
}

export async function runConfigSet({ input }: Context): Promise<void> {
  const profile = await chosenProfile(input.text('profile'), undefined)
  const name = preferenceOf(input.need('key'))
  const value = input.text('value')
  const choices = preference_choices[name]
  if (value !== undefined && choices?.includes(value) === false) {
    throw new UsageError(`${name} is one of ${choices.join(', ')}`)
  }
  await changePreferences(profile, { [name]: value })
}

const preference_choices: Partial<Record<PreferenceName, readonly string[]>> = {
  output: output_formats,
  password_storage: ['pgpass', 'none'],
}

function preferenceOf(key: string): PreferenceName {
  const name = preference_names.find((one) => one === key)
  if (name !== undefined) return name
  throw new UsageError(`there is no preference ${JSON.stringify(key)}; there are ${preference_names.join(', ')}`)
}

async function requireProfile(name: string): Promise<void> {
  const names = Object.keys(await listCredentials())
  if (names.includes(name)) return
  const known = names.join(', ') || 'none'
  throw new CommandError(`there is no profile ${name}; there are: ${known}`, { exit_code: exit_codes.not_found })
}

function profileOf({ profile }: Session): string {
  if (profile !== undefined) return profile
  throw new UsageError('HOWDAH_TOKEN is set, so there is no profile to remember a service; set HOWDAH_SERVICE')
}
