// What a run of tests notes in its folder about what it makes outside of it, for the sweep after a run that was killed.
import { randomBytes } from 'node:crypto'
import { appendFileSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { textOrNothing } from '#providers/host/read.ts'

const list_name = 'installation-ids'

/** For tests without a server; control groups and networks of the host are named after it. */
export function newInstallationId(): string {
  const installation_id = `t${randomBytes(5).toString('hex')}`
  // Before anything is made under this name.
  appendFileSync(join(tmpdir(), list_name), `${installation_id}\n`)
  return installation_id
}

/** All that were used in this folder: noted ones, and those of data directories, which have a file of that name. */
export function listInstallationIds(folder: string): string[] {
  const of_servers = readdirSync(folder).map((name) => join(folder, name, 'installation-id'))
  const texts = [join(folder, list_name), ...of_servers].map(textOrNothing)
  return texts.join('\n').split(/\s+/).filter(Boolean)
}
