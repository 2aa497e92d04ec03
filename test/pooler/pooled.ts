// What the pooler's tests share: a service with its pooler on, logins through it, and what is seen of its process.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import { findPgBouncer } from '#providers/local/pooler/program.ts'
import type { Endpoint, WantedService } from '#providers/provider.ts'
import { newEndpoint } from '#test/addresses.ts'
import { ask, loginTo, newWanted, settle, type Login, type World } from '#test/provider/service-fixture.ts'

const program = await findPgBouncer()

export const why_no_pooler = program === undefined ? ' (skipped: PgBouncer is not installed)' : ''
export const pooler_version = program?.version ?? '0.0'

/** Where there is no PgBouncer there is nothing to try. */
export const poolerTest = (name: string, body: () => Promise<void>): void =>
  test.skipIf(why_no_pooler)(`${name}${why_no_pooler}`, body)

export type Pooled = { world: World; provider: LocalProvider; wanted: WantedService & { pooler: Endpoint } }

export async function newPooled(world: World, parts: Partial<WantedService> = {}): Promise<Pooled> {
  const provider = await world.open()
  const direct = await newWanted(provider, { size: 'shared', ...parts })
  const pooler = await newEndpoint(provider, new Set([direct.home.port]))
  const wanted = { ...direct, pooler }
  await settle(provider, wanted)
  return { world, provider, wanted }
}

export const loginThrough = ({ provider, wanted }: Omit<Pooled, 'world'>, login: Login = {}): Promise<pg.Client> =>
  loginTo(provider, { ...wanted, reach: wanted.pooler }, login)

export const askThrough = (
  { provider, wanted }: Omit<Pooled, 'world'>,
  sql: string,
  login: Login = {},
): Promise<string> => ask(provider, { ...wanted, reach: wanted.pooler }, sql, login)

/** Its settings file is the last word of its command line, by which it is known. */
export async function poolerPid(world: World, { service_id }: WantedService): Promise<number> {
  const home = join(world.directory, 'services', service_id)
  const pid = Number(await readFile(join(home, 'pooler', 'pid'), 'utf8'))
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8')
  if (!command.endsWith(`\0${join(home, 'pooler.ini')}\0`)) throw new Error(`process ${pid} is no pooler: ${command}`)
  return pid
}
