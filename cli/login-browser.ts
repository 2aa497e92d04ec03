// Logging in with a browser on this machine: the server sends it back to a port that listens here, on loopback only,
// for one answer. What comes back is believed only with the state that was sent, and traded in with the PKCE verifier.
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CommandError } from './command.ts'
import { askForTokens, client_id, type Issuer, scope, type Tokens } from './login-issuer.ts'

const patience_ms = 10 * 60 * 1000

export async function logInWithBrowser(issuer: Issuer, say: (line: string) => void): Promise<Tokens> {
  const state = newRandom()
  const code_verifier = newRandom()
  const listener = createServer()
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  try {
    // Listening on an address, so it has a port.
    const { port } = listener.address() as AddressInfo
    const redirect_uri = `http://127.0.0.1:${port}/callback`
    const url = new URL(issuer.authorization_endpoint)
    const query = {
      client_id,
      redirect_uri,
      response_type: 'code',
      scope,
      state,
      code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    say(`Open this address in a browser on this machine to log in:\n\n  ${url.href}\n`)
    openInBrowser(url.href)
    const code = await answerTo(listener, issuer, state)
    return await askForTokens(issuer.token_endpoint, {
      grant_type: 'authorization_code',
      code,
      redirect_uri,
      code_verifier,
    })
  } finally {
    listener.close()
    listener.closeAllConnections()
  }
}

function answerTo(listener: ReturnType<typeof createServer>, { issuer }: Issuer, state: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new CommandError('nobody logged in within ten minutes; howdah login tries again'))
    const timer = setTimeout(late, patience_ms)
    listener.on('request', (request, response) => {
      const url = new URL(request.url ?? '/', 'http://127.0.0.1')
      const given = url.searchParams
      const is_ours = url.pathname === '/callback' && given.get('state') === state && given.get('iss') === issuer
      response.setHeader('content-type', 'text/html; charset=utf-8')
      response.setHeader('content-security-policy', `default-src 'none'`)
      response.setHeader('connection', 'close')
      // Any page can send a browser here: what is not the answer to this login changes nothing.
      if (!is_ours) {
        response.writeHead(404).end(pageOf('There is nothing here.'))
        return
      }
      const code = given.get('code')
      const text = code === null ? 'You are not logged in.' : 'You are logged in.'
      response.end(pageOf(`${text} Go back to your command line; you can close this page.`), () => {
        clearTimeout(timer)
        if (code === null)
          reject(new CommandError(`the login was refused (${given.get('error') ?? 'no reason given'})`))
        else resolve(code)
      })
    })
  })
}

/** Where there is a desktop. It only helps: the address has been printed. */
function openInBrowser(url: string): void {
  if (!process.env['DISPLAY'] && !process.env['WAYLAND_DISPLAY']) return
  const child = spawn('xdg-open', [url], { stdio: 'ignore', detached: true })
  child.on('error', () => undefined)
  child.unref()
}

const newRandom = () => randomBytes(32).toString('base64url')
const pageOf = (text: string) => `<!doctype html><html lang="en"><title>Howdah</title><p>${text}</p></html>`
