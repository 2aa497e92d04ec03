// howdah login: logs a person in at a Howdah server, or takes a personal access token, and keeps the credentials as a profile.
import { base_path } from '#contract/api.ts'
import { newClient } from '#contract/client.ts'
import { retrying } from '#contract/retry.ts'
import { UsageError } from '../command.ts'
import type { Context } from './context.ts'
import { logInWithBrowser } from './login-browser.ts'
import { logInWithDevice } from './login-device.ts'
import { findIssuer } from './login-issuer.ts'
import { textFrom } from './member.ts'
import { changePreferences, chosenProfile, type Credentials, findCredentials, saveCredentials } from './profile.ts'
import { apiUrlOf } from './session.ts'

const usual_server = 'http://127.0.0.1:8080'

export async function runLogin(context: Context): Promise<void> {
  const { input, terminal } = context
  const profile = await chosenProfile(input.text('profile'), undefined)
  const server = input.text('server') ?? (process.env['HOWDAH_SERVER'] || (await knownServer(context, profile)))
  const api_url = apiUrlOf(server)
  const credentials = input.isSet('with-token') ? withToken(api_url) : await asPerson(context, server)
  const token = 'token' in credentials ? credentials.token : credentials.access_token
  // It says which server does not answer, and waits for none.
  const client = newClient({ base_url: credentials.api_url, token, fetch: retrying(fetch, { patience_ms: 0 }) })
  const { oauth, api_key } = await client.getAuthInfo({})
  await saveCredentials(profile, credentials)
  const [only, another] = await client.listProjects({})
  // Preferences of another server mean nothing at this server.
  await changePreferences(profile, { project: another === undefined ? only?.id : undefined, service: undefined })
  terminal.print(`Logged in as ${oauth?.user.email ?? api_key?.issuing_user.email}.`)
}

async function knownServer({ around }: Context, profile: string): Promise<string> {
  const known = await findCredentials(profile)
  return known === undefined ? ((await around.findLocalServer()) ?? usual_server) : new URL(known.api_url).origin
}

function withToken(api_url: string): Credentials {
  const token = textFrom('-').trim()
  if (!/^[A-Z0-9]{10,32}[.:]\S+$/.test(token)) throw new UsageError('there is no personal access token on stdin')
  return { api_url, token: token.replace(':', '.') }
}

async function asPerson({ input, terminal }: Context, server: string): Promise<Credentials> {
  const issuer = await findIssuer(server)
  const say = (line: string) => terminal.print(line)
  const tokens = await (input.isSet('device') ? logInWithDevice(issuer, say) : logInWithBrowser(issuer, say))
  return { ...tokens, api_url: new URL(issuer.serverMetadata().issuer).origin + base_path }
}
