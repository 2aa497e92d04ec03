// The extensions of a service's database. Their scripts are run by a superuser, in the one database where a tenant may make
// anything, so nothing of a tenant may be within reach of a script.
//
// 1. Before the master role can log in there is nothing of a tenant: they are made where they belong.
// 2. After that a lost extension, dropped with a schema or with the database, is made in a schema that no tenant knows, and
//    moved from there whole. Objects in its way are not touched, but reported.
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { messageOf } from '../../host/message.ts'
import type { Effect } from '../host/effect.ts'
import { type Node } from '../host/layout.ts'
import { withRole, withSuperuser } from './superuser.ts'
import { master_database, master_role, pooler_role } from '../../postgres/names.ts'

/** Fixed: no search path decides. */
const home_schema = 'public'

/** An extension of a new service could not be made. The message is for the events of the service. */
export class UnmadeExtension extends Error {
  override readonly name = 'UnmadeExtension'
}

/** No tenant has connected yet. Without `cascade`: no offered extension needs another. */
export async function makeExtensions(effect: Effect, node: Node, extensions: readonly string[], major: number) {
  if (extensions.length === 0) return
  await withSuperuser(node, { database: master_database, major }, async (client) => {
    for (const extension of extensions) {
      await effect('master database: create extension')
      const sql = `create extension if not exists ${client.escapeIdentifier(extension)} schema ${home_schema}`
      await client.query(sql).catch((error: unknown) => {
        // What PostgreSQL itself says of the extension; not that the disk is full, or the server stopped.
        if (!(error instanceof pg.DatabaseError) || /^5[37]/.test(error.code ?? '')) throw error
        const what = `the extension ${extension} could not be made: ${error.message}`
        throw new UnmadeExtension(`${what}; see to its package on this host, then it is tried again`)
      })
    }
  })
}

/** A sentence when some are still missing: the service serves without them. */
export async function ensureExtensions(effect: Effect, node: Node, extensions: readonly string[], major: number) {
  const lacking = await findLacking(node, extensions)
  const reasons: string[] = []
  for (const extension of lacking) {
    await effect('master database: create extension')
    const reason = await makeAnew(node, extension, major).then(() => undefined, messageOf)
    if (reason !== undefined) reasons.push(`${extension} (${reason})`)
  }
  if (reasons.length === 0) return undefined
  return (
    `the database ${master_database} lacks an extension and it could not be made: ${reasons.join(', ')}; ` +
    `remove what is in its way, or make it as ${master_role} with create extension`
  )
}

/** Read as a role that can do nothing. */
async function findLacking(node: Node, extensions: readonly string[]): Promise<string[]> {
  if (extensions.length === 0) return []
  const present = await withRole(node, pooler_role, master_database, async (client) => {
    const { rows } = await client.query<{ extname: string }>('select extname from pg_catalog.pg_extension')
    return rows.map(({ extname }) => extname)
  }).catch(() => extensions)
  return extensions.filter((extension) => !present.includes(extension))
}

/**
 * The script's search path is the new schema alone, in which only a superuser can have put anything. The move runs no code, and
 * fails when a name is taken.
 */
async function makeAnew(node: Node, extension: string, major: number): Promise<void> {
  await withSuperuser(node, { database: master_database, major }, async (client) => {
    const name = client.escapeIdentifier(extension)
    const schema = client.escapeIdentifier(`howdah_${randomBytes(8).toString('hex')}`)
    await client.query(
      `begin;
       create schema ${schema};
       create extension ${name} schema ${schema};
       alter extension ${name} set schema ${home_schema};
       drop schema ${schema};
       commit`,
    )
  })
}
