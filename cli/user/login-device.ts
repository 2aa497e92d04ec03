// Logging in with a browser on another machine: a code is shown here and typed there, and the server is polled now and
// then whether it was (RFC 8628).
import type { Configuration } from 'openid-client'
import { CommandError } from '../command.ts'
import { saying, scope, type Tokens, tokensFrom } from './login-issuer.ts'

export async function logInWithDevice(issuer: Configuration, say: (line: string) => void): Promise<Tokens> {
  const { initiateDeviceAuthorization, pollDeviceAuthorizationGrant } = await import('openid-client')
  const device = await saying(initiateDeviceAuthorization(issuer, { scope }))
  const { user_code, verification_uri, expires_in } = device
  say(`Open this address in any browser:\n\n  ${verification_uri}\n\nand type this code:\n\n  ${user_code}\n`)
  const signal = AbortSignal.timeout(expires_in * 1000)
  return tokensFrom(pollDeviceAuthorizationGrant(issuer, device, undefined, { signal })).catch((error: unknown) => {
    if (!signal.aborted) throw error
    throw new CommandError('the code was not typed in time; howdah login --device shows a new one', { cause: error })
  })
}
