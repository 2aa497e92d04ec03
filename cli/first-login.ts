// What the very first start leaves for the user who ran it: a login at this machine's server, so that the first service needs no token to
// be pasted. A login that is there already stays as it is.
import { accessSync, constants, realpathSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { changePreferences, chosenProfile, default_profile, listCredentials, saveCredentials } from './user/profile.ts'

export type FirstLogin = { profile: string; is_in_use: boolean }

type Made = { api_url: string; token: string; project_id: string }

const command = join(import.meta.dirname, '..', 'bin', 'howdah')

/** Undefined where the user's files cannot be written; the token is shown all the same. */
export async function leaveLogin({ api_url, token, project_id }: Made): Promise<FirstLogin | undefined> {
  try {
    const known = await listCredentials()
    const names = Object.keys(known)
    // The data directory of a former server at this address is no more, and neither is its token.
    const same = names.find((name) => known[name]?.api_url === api_url)
    const local = names.includes('local') ? `local-${new URL(api_url).port}` : 'local'
    const profile = same ?? (names.length === 0 ? default_profile : local)
    await saveCredentials(profile, { api_url, token })
    await changePreferences(profile, { project: project_id, service: undefined })
    return { profile, is_in_use: (await chosenProfile(undefined, undefined)) === profile }
  } catch {
    return undefined
  }
}

/** The one line to type in a second terminal. */
export function nextStep(login: FirstLogin): string {
  const howdah = isOnPath() ? 'howdah' : command
  const choose = login.is_in_use ? '' : `${howdah} profile use ${login.profile} && `
  return `${choose}${howdah} service create shop`
}

/** Whether the shell's howdah is this one. A server of root has another PATH than its user. */
function isOnPath(): boolean {
  const path = process.env['HOWDAH_CALLERS_PATH'] ?? process.env['PATH'] ?? ''
  const candidates = path.split(delimiter).map((folder) => join(folder, 'howdah'))
  const first = candidates.find((candidate) => {
    try {
      accessSync(candidate, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
  return first !== undefined && realpathSync(first) === realpathSync(command)
}
