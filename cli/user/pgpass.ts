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
export async function savePassword(login: Login, password: string): Promise<void> {
  const file = pgpassFile()
  await withLock(file, async () => {
    const others = (await linesOf(file)).filter((line) => !line.startsWith(keyOf(login)))
    await saveText(file, [`${keyOf(login)}${escaped(password)}`, ...others, ''].join('\n'))
  })
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
