// howdah login: logs a person in at a Howdah server and keeps the credentials in a file of their own.
import type { Config } from '#server/config.ts'
import type { Command } from './command.ts'
import { logInWithBrowser } from './login-browser.ts'
import { saveCredentials } from './login-credentials.ts'
import { logInWithDevice } from './login-device.ts'
import { findIssuer } from './login-issuer.ts'
import { listRunning } from './running.ts'

export const login: Command = {
  name: 'login',
  summary: 'Log in as a user, with a browser.',
  options: {
    server: { value: 'url', description: 'The server; left out: the server of the data directory.' },
    device: { description: 'Use a browser on another machine, and type a code there.' },
  },
  details: 'The credentials are kept in $XDG_CONFIG_HOME/howdah/credentials.json, which only you can read.',
  run: async ({ config, text, isSet }) => {
    const issuer = await findIssuer(text('server') ?? serverOf(config))
    const say = (line: string) => console.log(line)
    const tokens = await (isSet('device') ? logInWithDevice(issuer, say) : logInWithBrowser(issuer, say))
    const { base_path } = await import('#contract/api.ts')
    const { newClient } = await import('#contract/client.ts')
    const api_url = new URL(issuer.serverMetadata().issuer).origin + base_path
    await saveCredentials({ ...tokens, api_url })
    const { oauth } = await newClient({ base_url: api_url, token: tokens.access_token }).getAuthInfo({})
    console.log(`Logged in as ${oauth?.user.email}.`)
  },
}

/** The address of a server of the data directory, or where one would be. */
export function serverOf(config: Config): string {
  const [running] = listRunning(config.data_dir)
  if (config.public_url !== undefined) return config.public_url
  return running === undefined ? `http://${config.host}:${config.port}` : new URL(running.url).origin
}
