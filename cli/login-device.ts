// Logging in with a browser on another machine: a code is shown here and typed there, and the server is asked now and
// then whether somebody has (RFC 8628).
import { setTimeout as pause } from 'node:timers/promises'
import { CommandError } from './command.ts'
import { askForTokens, type Issuer, post, scope, TokenError, type Tokens } from './login-issuer.ts'

const interval_seconds_default = 5

export async function logInWithDevice(issuer: Issuer, say: (line: string) => void): Promise<Tokens> {
  const device = await post(issuer.device_authorization_endpoint, { scope })
  const { device_code, user_code, verification_uri, expires_in, interval } = device
  if (typeof device_code !== 'string') throw new CommandError('the server answered without a code')
  say(
    `Open this address in any browser:\n\n  ${String(verification_uri)}\n\nand type this code:\n\n  ${String(user_code)}\n`,
  )
  let seconds = typeof interval === 'number' ? interval : interval_seconds_default
  const deadline = performance.now() + Number(expires_in ?? 600) * 1000
  while (performance.now() < deadline) {
    await pause(seconds * 1000)
    try {
      return await askForTokens(issuer.token_endpoint, {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        device_code,
      })
    } catch (error) {
      if (!(error instanceof TokenError)) throw error
      if (error.code === 'slow_down') seconds += 5
      else if (error.code !== 'authorization_pending') throw error
    }
  }
  throw new CommandError('nobody typed the code in time; howdah login --device shows a new one')
}
