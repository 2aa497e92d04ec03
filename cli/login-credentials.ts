// What `howdah login` leaves behind: one file that only its user can read, under $XDG_CONFIG_HOME/howdah. Refreshing
// uses up the token that was there, so it happens under a lock: two commands at once must not end each other's login.
import { mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { CommandError } from './command.ts'
import { refreshTokens, type Tokens } from './login-issuer.ts'

export type Credentials = Tokens & {
  /** Ends in /public/api/v1. */
  api_url: string
}

/** A token is renewed a little before it expires, so that it does not expire on its way. */
const early_ms = 30_000
const lock_patience_ms = 30_000
const lock_poll_ms = 50

export async function saveCredentials(credentials: Credentials): Promise<void> {
  const file = credentialsFile()
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const aside = `${file}.${process.pid}`
  await writeFile(aside, `${JSON.stringify(credentials, undefined, 2)}\n`, { mode: 0o600, flush: true })
  await rename(aside, file)
}

export async function removeCredentials(): Promise<void> {
  await rm(credentialsFile(), { force: true })
}

export async function findCredentials(): Promise<Credentials | undefined> {
  try {
    return JSON.parse(await readFile(credentialsFile(), 'utf8')) as Credentials // saveCredentials wrote it
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new CommandError(`${credentialsFile()} cannot be read; howdah login makes a new one`, { cause: error })
  }
}

/** Credentials with an access token that is good now. */
export async function getCredentials(): Promise<Credentials> {
  const known = await findCredentials()
  if (known === undefined) throw new CommandError('there is no login on this machine; make one with howdah login')
  if (isFresh(known)) return known
  return withLock(async () => {
    // Another command may have renewed it while this one waited.
    const current = (await findCredentials()) ?? known
    if (isFresh(current)) return current
    const tokens = await refreshTokens(new URL(current.api_url).origin, current.refresh_token)
    if (tokens === undefined) throw new CommandError('the login has ended; howdah login makes a new one')
    const renewed = { ...current, ...tokens }
    await saveCredentials(renewed)
    return renewed
  })
}

function credentialsFile(): string {
  const home = process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config')
  return join(home, 'howdah', 'credentials.json')
}

function isFresh({ expires_at }: Credentials): boolean {
  return Date.parse(expires_at) - early_ms > Date.now()
}

async function withLock<T>(work: () => Promise<T>): Promise<T> {
  const lock = `${credentialsFile()}.lock`
  const deadline = performance.now() + lock_patience_ms
  while (!(await take(lock))) {
    // The command that took it was killed: refreshing takes no longer than a request may.
    const since = await stat(lock).catch(() => undefined)
    if (since !== undefined && Date.now() - since.mtimeMs > lock_patience_ms) await rm(lock, { force: true })
    if (performance.now() > deadline) throw new CommandError(`another command has the lock ${lock}; try again`)
    await pause(lock_poll_ms)
  }
  try {
    return await work()
  } finally {
    await rm(lock, { force: true })
  }
}

async function take(lock: string): Promise<boolean> {
  try {
    await (await open(lock, 'wx', 0o600)).close()
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}
