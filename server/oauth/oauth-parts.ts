// What the files of the authorization server share. oauth.ts fills it once.
import type { Db } from '../store/db.ts'
import type { Log } from '../log.ts'
import type { ExternalLogin } from './external-login.ts'
import type { Keys } from './keys.ts'
import type { Passwords } from './password.ts'
import type { Provider } from './provider.ts'
import type { Throttle } from './throttle.ts'

export type OauthParts = {
  db: Db
  log: Log
  keys: Keys
  passwords: Passwords
  throttle: Throttle
  /** Undefined: people log in here, with a password. */
  external: ExternalLogin | undefined
  provider: () => Promise<Provider>
  origin: () => string
  /** Forgets everything that is believed about callers. */
  forget: () => void
}
