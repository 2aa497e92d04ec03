// The folder of a copy of the metadata: a file for each table, `<table>.jsonl`, a row of JSON on each line. Before it come the closed files
// of a table that only grows, `<table>.<id of its last row>.jsonl`, which stay as they are. A copy of a version without closed files is one
// that has none.
import { createReadStream } from 'node:fs'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { linesOf } from '#providers/host/lines.ts'
import { undefinedIfAbsent } from '#providers/host/read.ts'
import { replaceWhole } from '../whole-file.ts'

export type ClosedFile = { name: string; last_id: number }

/** Rows that were removed from the store leave the copy within this time. */
const closed_ms_max = 7 * 86_400_000
const id_digits = 16

/** Those of a table, the oldest first. */
export async function listClosed(folder: string, table: string) {
  const pattern = new RegExp(`^${table}\\.(\\d{${id_digits}})\\.jsonl$`)
  const names = (await readdir(folder)).filter((name) => pattern.test(name)).sort()
  const closed = names.map((name): ClosedFile => ({ name, last_id: Number(pattern.exec(name)?.[1]) }))
  const [first, last] = [names[0], names.at(-1)]
  if (first === undefined || last === undefined) return { closed, last_row: undefined, is_old: false }
  const last_row = (await readFile(join(folder, last), 'utf8')).trimEnd().split('\n').at(-1)
  const is_old = Date.now() - (await stat(join(folder, first))).mtimeMs > closed_ms_max
  return { closed, last_row, is_old }
}

/** The newest first: interrupted, it leaves no gap between those that stay. */
export async function removeClosed(folder: string, closed: readonly ClosedFile[]): Promise<void> {
  for (const { name } of closed.toReversed()) await rm(join(folder, name))
}

export async function writeClosed(folder: string, table: string, last_id: number, lines: readonly string[]) {
  const name = `${table}.${String(last_id).padStart(id_digits, '0')}.jsonl`
  await replaceWhole(join(folder, name), lines.join(''))
  return { name, last_id }
}

/** The rows since the last closed file. Unchanged, it stays. Returns its name. */
export async function writeOpen(folder: string, table: string, lines: readonly string[]): Promise<string> {
  const [name, text] = [`${table}.jsonl`, lines.join('')]
  const before = await readFile(join(folder, name), 'utf8').catch(undefinedIfAbsent)
  if (before !== text) await replaceWhole(join(folder, name), text)
  return name
}

export async function removeOthers(folder: string, names: readonly string[]): Promise<void> {
  for (const name of await readdir(folder)) if (!names.includes(name)) await rm(join(folder, name), { force: true })
}

/** None of a table without a file. */
export async function* readRows(folder: string, table: string): AsyncGenerator<string> {
  const { closed } = await listClosed(folder, table)
  const there = await readdir(folder)
  for (const name of [...closed.map((file) => file.name), `${table}.jsonl`].filter((one) => there.includes(one))) {
    for await (const line of linesOf(createReadStream(join(folder, name)))) if (line) yield line
  }
}

/** All at once: of a table that stays small. */
export async function listRows(folder: string, table: string): Promise<string[]> {
  const rows: string[] = []
  for await (const row of readRows(folder, table)) rows.push(row)
  return rows
}
