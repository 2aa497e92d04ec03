// The one-time links with which people choose a password, as commands print them.
import type { Config } from '#server/config.ts'
import { serverOf } from '../running.ts'

/** path: of the page and its token. Undefined where people log in elsewhere. */
export function passwordLinkOf(config: Config, path: string): string | undefined {
  return config.oidc_issuer === undefined ? new URL(path, serverOf(config)).href : undefined
}
