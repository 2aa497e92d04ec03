// Passwords of databases, in the file where psql and every driver over libpq look for them: ~/.pgpass, or PGPASSFILE.
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Connection } from '#contract/connection.ts'
import { findText, saveText, withLock } from './files.ts'

type Login = Pick<Connection, 'host' | 'port' | 'user'>

export function pgpassFile(): string {
  return process.env['PGPASSFILE'] || join(homedir(), '.pgpass')
}

/** Replaces the line of this login; other lines stay as they are. First, because libpq takes the first line that fits. */
export async function savePassword(login: Login, password: string, replaced: readonly Login[] = []): Promise<void> {
  const file = pgpassFile()
  const keys = [login, ...replaced].map(keyOf)
  await withLock(file, async () => {
    const others = (await linesOf(file)).filter((line) => !keys.some((key) => line.startsWith(key)))
    await saveText(file, [`${keyOf(login)}${escaped(password)}`, ...others, ''].join('\n'))
  })
}

/** To another address of the same service. */
export async function movePassword(from: Login, to: Login): Promise<void> {
  const password = await findPassword(from)
  if (password !== undefined) await savePassword(to, password, [from])
}

/** Only of those that savePassword kept. */
export async function findPassword(login: Login): Promise<string | undefined> {
  const line = (await linesOf(pgpassFile())).find((line) => line.startsWith(keyOf(login)))
  return line?.slice(keyOf(login).length).replaceAll(/\\(.)/g, '$1')
}

async function linesOf(file: string): Promise<string[]> {
  return ((await findText(file)) ?? '').split('\n').filter((line) => line !== '')
}

/** Any database: those of a service have one password. */
function keyOf({ host, port, user }: Login): string {
  return `${escaped(host)}:${port}:*:${escaped(user)}:`
}

function escaped(text: string): string {
  return text.replaceAll(/([:\\])/g, '\\$1')
}
