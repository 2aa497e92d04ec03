// howdah logout: ends the login at the server and removes the credentials, in this order; where the server cannot be
// reached, they are removed all the same and the message says what that leaves.
import type { Command } from './command.ts'
import { findCredentials, getCredentials, removeCredentials } from './login-credentials.ts'

export const logout: Command = {
  name: 'logout',
  summary: 'End the login that howdah login made.',
  run: async () => {
    if ((await findCredentials()) === undefined) return console.log('There is no login on this machine.')
    const ended = await endLogin()
    await removeCredentials()
    console.log(
      ended ? 'Logged out.' : 'Logged out here. The server could not be told; its login ends by itself in 14 days.',
    )
  },
}

async function endLogin(): Promise<boolean> {
  try {
    const { api_url, access_token, refresh_token } = await getCredentials()
    const { newClient } = await import('#contract/client.ts')
    await newClient({ base_url: api_url, token: access_token }).logout({ body: { refresh_token } })
    return true
  } catch {
    return false
  }
}
