// Profiles: logins at servers, by name. credentials.json has what proves them, config.json what their user prefers there. A token is sent
// to the server that gave it and to no other one, whatever a folder's .howdah.json says.
import { CommandError, exit_codes } from '../command.ts'
import { configFile, findJson, saveText, withLock } from './files.ts'
import { refreshTokens, type Tokens } from './login-issuer.ts'

/** Of a person who logged in, or a personal access token. */
export type Credentials = { /** Ends in /public/api/v1. */ api_url: string } & (Tokens | { token: string })

export const preference_names = ['project', 'service', 'output', 'password_storage'] as const
export type PreferenceName = (typeof preference_names)[number]
export type Preferences = Partial<Record<PreferenceName, string>>

type Config = { profile?: string; profiles: Record<string, Preferences> }

/** A token is renewed a little before it expires, so that it does not expire on its way. */
const early_ms = 30_000

export const default_profile = 'default'

const credentials_file = () => configFile('credentials.json')
const config_file = () => configFile('config.json')

export async function listCredentials(): Promise<Record<string, Credentials>> {
  const found = (await findJson(credentials_file())) ?? {}
  // As a former version left it: one login without a name.
  const named = typeof found['api_url'] === 'string' ? { [default_profile]: found } : found
  return named as Record<string, Credentials> // saveCredentials wrote it
}

export async function findCredentials(profile: string): Promise<Credentials | undefined> {
  return (await listCredentials())[profile]
}

/** Undefined removes them. */
export function saveCredentials(profile: string, credentials: Credentials | undefined): Promise<void> {
  return withLock(credentials_file(), () => writeCredentials(profile, credentials))
}

async function writeCredentials(profile: string, credentials: Credentials | undefined): Promise<void> {
  const { [profile]: _, ...others } = await listCredentials()
  const all = credentials === undefined ? others : { ...others, [profile]: credentials }
  await saveText(credentials_file(), `${JSON.stringify(all, undefined, 2)}\n`)
}

/** An access token that is good now. */
export async function freshToken(profile: string): Promise<string> {
  const known = await findCredentials(profile)
  if (known !== undefined && isFresh(known)) return tokenIn(known)
  return withLock(credentials_file(), async () => {
    // Another command may have renewed it while this one waited.
    const current = await findCredentials(profile)
    if (current === undefined) throw noLogin(`there is no login ${profile}`)
    if (isFresh(current)) return tokenIn(current)
    if (!('refresh_token' in current)) return tokenIn(current)
    const tokens = await refreshTokens(new URL(current.api_url).origin, current.refresh_token)
    if (tokens === undefined) throw noLogin('the login has ended')
    await writeCredentials(profile, { api_url: current.api_url, ...tokens })
    return tokens.access_token
  })
}

export function noLogin(what: string, how = 'howdah login makes a new one'): CommandError {
  return new CommandError(`${what}; ${how}`, { exit_code: exit_codes.no_login })
}

export async function findConfig(): Promise<Config> {
  return { profiles: {}, ...(await findJson(config_file())) }
}

export function changeConfig(change: (config: Config) => Config): Promise<void> {
  return withLock(config_file(), async () => {
    await saveText(config_file(), `${JSON.stringify(change(await findConfig()), undefined, 2)}\n`)
  })
}

/** undefined takes a preference back. */
export function changePreferences(
  profile: string,
  preferences: Partial<Record<PreferenceName, string | undefined>>,
): Promise<void> {
  return changeConfig((config) => {
    const merged = { ...config.profiles[profile], ...preferences }
    const kept = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined))
    return { ...config, profiles: { ...config.profiles, [profile]: kept } }
  })
}

/** Which profile is meant: the chosen one, or that of the server, or the one in use, or the only one. `by`: what names the server. */
export async function chosenProfile(
  chosen: string | undefined,
  server: { url: string; by: string } | undefined,
): Promise<string> {
  const named = chosen ?? (process.env['HOWDAH_PROFILE'] || undefined)
  if (named !== undefined) return named
  const [all, { profile }] = await Promise.all([listCredentials(), findConfig()])
  const names = Object.keys(all)
  if (server !== undefined) {
    const { origin, host } = new URL(server.url)
    const at_server = names.filter((name) => new URL(all[name]?.api_url ?? '').origin === origin)
    const found = at_server.find((name) => name === profile) ?? at_server[0]
    if (found !== undefined) return found
    // In a profile of its own, or it would take the place of a login elsewhere.
    const beside = names.length === 0 ? '' : ` --profile ${host}`
    throw noLogin(
      `there is no login at ${origin}, which ${server.by} names`,
      `howdah login --server ${origin}${beside} makes one`,
    )
  }
  return profile ?? (names.length === 1 ? (names[0] ?? default_profile) : default_profile)
}

function isFresh(credentials: Credentials): boolean {
  return !('expires_at' in credentials) || Date.parse(credentials.expires_at) - early_ms > Date.now()
}

function tokenIn(credentials: Credentials): string {
  return 'token' in credentials ? credentials.token : credentials.access_token
}
