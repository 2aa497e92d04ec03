// A session: which server, as whom, in which project. What a command does not name comes from the environment, the folder's .howdah.json
// or the profile, in this order. Requests that can be repeated safely are: the client itself repeats none.
import { dirname, join } from 'node:path'
import { base_path } from '#contract/api.ts'
import type { AuditClient } from '#contract/audit.ts'
import { type Client, newClient } from '#contract/client.ts'
import { retrying } from '#contract/retry.ts'
import { withVersionWatch } from '#contract/version.ts'
import { type CommandError, type Input, UsageError } from '../command.ts'
import { findJson } from './files.ts'
import {
  chosenProfile,
  findConfig,
  findCredentials,
  freshToken,
  noLogin,
  type PreferenceName,
  type Preferences,
} from './profile.ts'
import type { Terminal } from './terminal.ts'

export type Session = {
  /** Undefined where the environment gives the token. */
  profile: string | undefined
  api_url: string
  token: () => Promise<string>
  client: Client
  /** A choice made beforehand: by variable, folder or profile. */
  preferred: (name: PreferenceName) => string | undefined
}

/** What the surroundings of the command provide. */
export type Surroundings = {
  version: string
  /** The path of the command itself, for programs that start it. */
  command: string
  openTerminal: (input: Input) => Terminal
  /** The server of this machine's data directory, if one runs: where to log in. */
  findLocalServer: () => Promise<string | undefined>
}

const folder_file = '.howdah.json'

/** `as`: who the server is told that it is. */
export async function openSession(input: Input, around: Surroundings, as: AuditClient = 'cli'): Promise<Session> {
  const folder = await findFolderContext()
  const headers = { 'user-agent': `howdah-${as}/${around.version}` }
  const terminal = around.openTerminal(input)
  const watched_fetch = withVersionWatch(fetch, around.version, (theirs) =>
    terminal.say(
      `The server is of version ${theirs}, older than this command (${around.version}): it may not know every command.`,
    ),
  )
  const patient_fetch = retrying(watched_fetch, { onRetry: tellOnce(terminal) })
  const fromEnvironment = (name: PreferenceName) => process.env[`HOWDAH_${name.toUpperCase()}`] || undefined
  const token = tokenOfEnvironment(input)
  if (token) {
    const server = process.env['HOWDAH_SERVER']
    if (!server) throw new UsageError('HOWDAH_TOKEN is set and HOWDAH_SERVER is not: it names the server of the token')
    const api_url = apiUrlOf(server)
    const preferred = preferring(fromEnvironment, folderFor(folder, api_url), {})
    const client = newClient({ base_url: api_url, token, headers, fetch: patient_fetch })
    return { profile: undefined, api_url, token: async () => token, client, preferred }
  }
  const profile = await profileHere(input, folder)
  const credentials = await findCredentials(profile)
  if (credentials === undefined) throw await missingLogin(profile, input, around)
  const { api_url } = credentials
  const { profiles } = await findConfig()
  const preferred = preferring(fromEnvironment, folderFor(folder, api_url), profiles[profile] ?? {})
  const own_token = () => freshToken(profile)
  const client = newClient({ base_url: api_url, token: own_token, headers, fetch: patient_fetch })
  return { profile, api_url, token: own_token, client, preferred }
}

/** The profile of a command that is called here: of the server that the environment or the folder names, or the one in use. */
export async function profileHere(input: Input, folder: FolderContext | undefined): Promise<string> {
  const server = process.env['HOWDAH_SERVER']
  const named = server ? { url: apiUrlOf(server), by: 'HOWDAH_SERVER' } : serverOf(folder)
  return await chosenProfile(input.text('profile'), named)
}

/** As a file or a vault may give it: with spaces around it, or a colon. Empty: there is none, or a profile is chosen in its place. */
function tokenOfEnvironment(input: Input): string {
  const token = input.isSet('profile') ? '' : (process.env['HOWDAH_TOKEN'] ?? '').trim()
  if (/[^\u0021-\u007e]/.test(token)) throw new UsageError('HOWDAH_TOKEN is no token: it has spaces or line breaks')
  return token.replace(/^([A-Z0-9]+):/, '$1.')
}

/** The first of many attempts is news. */
function tellOnce(terminal: Terminal): () => void {
  let is_told = false
  return () => {
    if (!is_told) terminal.say('The server does not answer; trying again for a while.')
    is_told = true
  }
}

/** A server as people name it: its origin, or the URL of its API. `localhost:8080` would be a URL too, of the scheme `localhost`. */
export function apiUrlOf(server: string): string {
  if (!/^https?:/i.test(server) || !URL.canParse(server))
    throw new UsageError(`${JSON.stringify(server)} is no URL of a server, such as http://127.0.0.1:8080`)
  return new URL(server).origin + base_path
}

const serverOf = (folder: FolderContext | undefined) =>
  folder?.server === undefined ? undefined : { url: apiUrlOf(folder.server), by: folder_file }

type FolderContext = { [name in 'server' | 'project' | 'service']?: string }

/** That of this folder or of the nearest one above. */
export async function findFolderContext(): Promise<FolderContext | undefined> {
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    const found = await findJson(join(folder, folder_file))
    if (found !== undefined) {
      const texts = Object.entries(found).filter(([, value]) => typeof value === 'string')
      return Object.fromEntries(texts)
    }
    if (folder === dirname(folder)) return undefined
  }
}

export const folderContextFile = () => join(process.cwd(), folder_file)

/** What a folder says of another server means nothing here. */
function folderFor(folder: FolderContext | undefined, api_url: string): FolderContext {
  const server = folder?.server
  return folder === undefined || (server !== undefined && apiUrlOf(server) !== api_url) ? {} : folder
}

function preferring(
  fromEnvironment: (name: PreferenceName) => string | undefined,
  folder: FolderContext,
  of_profile: Preferences,
) {
  return (name: PreferenceName) =>
    fromEnvironment(name) ?? (name === 'project' || name === 'service' ? folder[name] : undefined) ?? of_profile[name]
}

async function missingLogin(profile: string, input: Input, around: Surroundings): Promise<CommandError> {
  const server = await around.findLocalServer()
  const where =
    server === undefined ? 'howdah login --server <url> makes one' : `${server} runs here: howdah login makes one`
  const named = input.text('profile') ?? process.env['HOWDAH_PROFILE']
  return noLogin(named ? `there is no profile ${profile}` : 'there is no login on this machine', where)
}
