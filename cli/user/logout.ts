// howdah logout: ends the login at the server and removes the credentials, in this order; where the server cannot be
// reached, they are removed all the same and the message says what that leaves.
import { newClient } from '#contract/client.ts'
import type { Context } from './context.ts'
import { type Credentials, findCredentials, freshToken, saveCredentials } from './profile.ts'
import { findFolderContext, profileHere } from './session.ts'

export async function runLogout({ input, terminal }: Context): Promise<void> {
  const profile = await profileHere(input, await findFolderContext())
  const known = await findCredentials(profile)
  if (known === undefined) return terminal.print('There is no login on this machine.')
  const ended = await endLogin(profile, known)
  await saveCredentials(profile, undefined)
  terminal.print(ended)
}

async function endLogin(profile: string, known: Credentials): Promise<string> {
  if ('token' in known) return 'Logged out here. The personal access token itself stays; howdah token revoke ends it.'
  try {
    const token = await freshToken(profile)
    const current = await findCredentials(profile)
    const body = current !== undefined && 'refresh_token' in current ? { refresh_token: current.refresh_token } : {}
    await newClient({ base_url: known.api_url, token }).logout({ body })
    return 'Logged out.'
  } catch {
    return 'Logged out here. The server could not be told; its login ends by itself in 14 days.'
  }
}
