// howdah whoami: who is logged in here, as the server sees it right now.
import { Fault } from '#contract/fault.ts'
import { type Command, CommandError, json_option } from './command.ts'
import { getCredentials } from './login-credentials.ts'

export const whoami: Command = {
  name: 'whoami',
  summary: 'Say who is logged in here.',
  options: json_option,
  run: async ({ isSet }) => {
    const { api_url, access_token } = await getCredentials()
    const { newClient } = await import('#contract/client.ts')
    const client = newClient({ base_url: api_url, token: access_token })
    const info = await client.getAuthInfo({}).catch((error: unknown) => {
      if (!(error instanceof Fault) || error.code !== 'UNAUTHORIZED') throw error
      throw new CommandError('the login has ended; howdah login makes a new one')
    })
    if (isSet('json')) return console.log(JSON.stringify(info, undefined, 2))
    console.log(`${info.oauth?.user.name} <${info.oauth?.user.email}> at ${new URL(api_url).origin}`)
  },
}
