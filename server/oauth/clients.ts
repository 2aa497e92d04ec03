// The programs that people log in with. All are public: they have no secret, and PKCE proves who asked.
// The command line is native, and so are agents: their redirect goes to a port of this machine that is known only when it asks (RFC 8252).
import type { ClientMetadata } from 'oidc-provider'

const cli_client_id = 'howdah-cli'
export const console_client_id = 'howdah-console'
/** What an access token is for: all of the API, within the user's roles. */
export const api_scope = 'api'

/** Programs of agents: their tokens are for one path, which is no part of the API. */
const mcp_client_id = 'howdah-mcp'
export const mcp_path = '/mcp'
export const mcp_scopes = ['read', 'write']
export const resourceOf = (origin: string) => origin + mcp_path

/** Not of a program that registered itself. */
export const isOurs = (client_id: string) => [cli_client_id, mcp_client_id, console_client_id].includes(client_id)

/** Whose tokens are for the API. */
export const isForApi = (client_id: string) => client_id === cli_client_id || client_id === console_client_id

const names: Readonly<Record<string, string>> = {
  [cli_client_id]: 'Howdah command line',
  [mcp_client_id]: 'An agent by the Model Context Protocol',
  [console_client_id]: 'Howdah console',
}

/** Of a program of ours. */
export const clientNameOf = (client_id: string): string | undefined => names[client_id]

export function clientsOf(origin: string): ClientMetadata[] {
  const all = { token_endpoint_auth_method: 'none', response_types: ['code'], response_modes: ['query'] } as const
  return [
    {
      ...all,
      client_id: cli_client_id,
      client_name: names[cli_client_id],
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      redirect_uris: ['http://127.0.0.1/callback'],
    },
    {
      ...all,
      client_id: mcp_client_id,
      client_name: names[mcp_client_id],
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: ['callback', 'oauth/callback'].flatMap((path) => [
        `http://127.0.0.1/${path}`,
        `http://localhost/${path}`,
      ]),
    },
    {
      ...all,
      client_id: console_client_id,
      client_name: names[console_client_id],
      application_type: 'web',
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: [`${origin}/console/callback`],
      post_logout_redirect_uris: [`${origin}/console/`],
    },
  ]
}
