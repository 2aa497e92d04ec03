// What the benches of backups share: a repository for a Howdah, waiting until it has what was committed, and the way back.
import { setTimeout as pause } from 'node:timers/promises'
import { howdah } from '#test/e2e/howdah.ts'
import type { Parent } from './fork-parent.ts'
import type { Bench } from './howdah.ts'

export type Known = Pick<Parent, 'service_id'>

type Protection = { last_backup_at?: string; backup_lag_seconds?: number; last_proven_restorable_at?: string }

/** Returns the recovery key. */
export async function initRepository({ data_dir }: Bench, target: string): Promise<string> {
  const made = await howdah(['admin', 'backup', 'init', '--backup-to', `file://${target}`, '--data-dir', data_dir])
  const key = /[A-Z2-7]{4}(-[A-Z2-7]{4}){12}/.exec(made.stdout)?.[0]
  if (key === undefined) throw new Error(`no repository was made: ${made.stderr}`)
  return key
}

export async function call<T>({ url, token, project_id }: Bench, method: string, path: string): Promise<T> {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${url}/projects/${project_id}/${path}`, { method, headers })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  const text = await answer.text()
  return (text === '' ? undefined : JSON.parse(text)) as T // the contract's own answers
}

export async function protectionOf(bench: Bench, { service_id }: Known): Promise<Protection> {
  return (await call<{ protection?: Protection }>(bench, 'GET', `services/${service_id}`)).protection ?? {}
}

/** All that was committed before, and a snapshot that was taken before. */
export async function untilCopied(bench: Bench, known: Known): Promise<void> {
  const begun = new Date()
  for (;;) {
    const { last_backup_at = '', backup_lag_seconds = Infinity } = await protectionOf(bench, known)
    const listed = await call<{ taken?: string }[]>(bench, 'GET', `services/${known.service_id}/snapshots`)
    const newest = Math.max(...listed.map(({ taken = '' }) => Date.parse(taken) || 0))
    if (Date.parse(last_backup_at) >= newest && Date.now() - backup_lag_seconds * 1000 > begun.getTime() + 1000) return
    await pause(200)
  }
}

/** prefix: words before the command. */
export async function restore(
  target: string,
  { data_dir, key, prefix = [] }: { data_dir: string; key: string; prefix?: readonly string[] },
): Promise<void> {
  const words = ['admin', 'restore', '--from', `file://${target}`, '--data-dir', data_dir]
  const { code, stderr } = await howdah(words, { HOWDAH_RECOVERY_KEY: key }, prefix)
  if (code !== 0) throw new Error(`the restore ended with ${code}: ${stderr}`)
}
