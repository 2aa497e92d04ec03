// The console as a client of our own authorization server: it trades a code or a refresh token for tokens, within the process.
import type { FastifyInstance } from 'fastify'
import { Fault } from '#contract/fault.ts'
import { console_client_id } from '../oauth/clients.ts'
import { mount_path } from '../oauth/mount.ts'

export type Tokens = { access_token: string; refresh_token: string; expires_at: number }

/** What an access token of ours says of its login. */
export type Claims = { user_id: number; grant_id: string }

export type AskForTokens = (address: string, grant: Readonly<Record<string, string>>) => Promise<Tokens | undefined>

/** Undefined where the authorization server refuses the grant: the login has ended. */
export function newAskForTokens(app: FastifyInstance, origin: () => string): AskForTokens {
  return async (address, grant) => {
    const asked_at = Date.now()
    const answer = await app.inject({
      method: 'POST',
      url: `${mount_path}/token`,
      remoteAddress: address,
      headers: { host: new URL(origin()).host, 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ client_id: console_client_id, ...grant }).toString(),
    })
    if (answer.statusCode === 400) return undefined
    if (answer.statusCode !== 200) throw new Fault('UNAVAILABLE', 'the login cannot be renewed right now; try again')
    const { access_token, refresh_token, expires_in } = answer.json<{
      access_token: string
      refresh_token: string
      expires_in: number
    }>()
    return { access_token, refresh_token, expires_at: asked_at + expires_in * 1000 }
  }
}

/** Of a token that our own authorization server has just issued, so there is nothing to verify. */
export function claimsOf(access_token: string): Claims {
  const payload = Buffer.from(access_token.split('.')[1] ?? '', 'base64url').toString()
  const { sub, grant } = JSON.parse(payload) as { sub: string; grant: string } // see extraTokenClaims
  return { user_id: Number(sub), grant_id: grant }
}
