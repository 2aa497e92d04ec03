// Logging in with a browser on this machine: the server sends it back to a port that listens here, on loopback only,
// for one answer. What comes back is believed only with the state that was sent, and traded in with the PKCE verifier.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Configuration } from 'openid-client'
import { CommandError } from '../command.ts'
import { openInBrowser } from './open.ts'
import { scope, type Tokens, tokensFrom } from './login-issuer.ts'

const patience_ms = 10 * 60 * 1000

export async function logInWithBrowser(issuer: Configuration, say: (line: string) => void): Promise<Tokens> {
  const openid = await import('openid-client')
  const state = openid.randomState()
  const code_verifier = openid.randomPKCECodeVerifier()
  const listener = createServer()
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  try {
    // Listening on an address, so it has a port.
    const { port } = listener.address() as AddressInfo
    const redirect_uri = `http://127.0.0.1:${port}/callback`
    const { href } = openid.buildAuthorizationUrl(issuer, {
      redirect_uri,
      scope,
      state,
      code_challenge: await openid.calculatePKCECodeChallenge(code_verifier),
      code_challenge_method: 'S256',
    })
    say(`Open this address in a browser on this machine to log in:\n\n  ${href}\n`)
    openInBrowser(href)
    const answer = await answerTo(listener, redirect_uri, { state, iss: issuer.serverMetadata().issuer })
    const checks = { expectedState: state, pkceCodeVerifier: code_verifier }
    return await tokensFrom(openid.authorizationCodeGrant(issuer, answer, checks))
  } finally {
    listener.close()
    listener.closeAllConnections()
  }
}

type Proof = { state: string; iss: string }

function answerTo(listener: ReturnType<typeof createServer>, redirect_uri: string, proof: Proof): Promise<URL> {
  return new Promise((resolve, reject) => {
    const late = () =>
      reject(new CommandError('the login was not finished within ten minutes; howdah login tries again'))
    const timer = setTimeout(late, patience_ms)
    listener.on('request', (request, response) => {
      const [path, query = ''] = (request.url ?? '').split('?', 2)
      const answer = new URL(`${redirect_uri}?${query}`)
      const given = answer.searchParams
      const is_ours = path === '/callback' && given.get('state') === proof.state && given.get('iss') === proof.iss
      response.setHeader('content-type', 'text/html; charset=utf-8')
      response.setHeader('content-security-policy', `default-src 'none'`)
      response.setHeader('connection', 'close')
      // Any page can send a browser here: what is not the answer to this login changes nothing.
      if (!is_ours) {
        response.writeHead(404).end(pageOf('There is nothing here.'))
        return
      }
      const text = given.has('code') ? 'You are logged in.' : 'You are not logged in.'
      response.end(pageOf(`${text} Go back to your command line; you can close this page.`), () => {
        clearTimeout(timer)
        resolve(answer)
      })
    })
  })
}

const pageOf = (text: string) => `<!doctype html><html lang="en"><title>Howdah</title><p>${text}</p></html>`
