// A service that other regions copy: who is let in for it, what that role can do, and that nothing of it stays.
import pg from 'pg'
import { expect, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import type { WantedService } from '#providers/provider.ts'
import { until } from '#test/until.ts'
import { ask, loginTo, settle, useWorlds } from './service-fixture.ts'
import { verifierOf } from './wanted.ts'

const { newService } = useWorlds()
const copy = { copy_id: 'fork000000', password_verifier: verifierOf('of the copy') }
const role = { user: 'howdah_copy_fork000000', password: 'of the copy' }

/** As pg_basebackup logs in. */
async function replicate(provider: LocalProvider, { reach }: WantedService, login: { user: string; password: string }) {
  const ssl = { ca: provider.authority_pem }
  const config = { ...reach, ...login, database: 'postgres', ssl, replication: 'true' }
  const client = new pg.Client(config)
  client.on('error', () => undefined)
  await client.connect()
  return client
}

test('a copy is let in to replicate and to nothing else, and is shut out when it is made', async () => {
  const { provider, wanted } = await newService({ size: 'shared' })
  const owner = await loginTo(provider, wanted)
  // A role of such a name that a tenant made is not touched, and is good for nothing.
  await owner.query(`create role howdah_copy_mine login password 'mine'`)
  await expect(replicate(provider, wanted, role)).rejects.toThrow(/password authentication failed/)
  await expect(replicate(provider, wanted, { user: 'howdah_copy_mine', password: 'mine' })).rejects.toThrow(
    /permission denied to start WAL sender/,
  )

  const open = { ...wanted, generation: 2, copies: [copy] }
  await settle(provider, open)
  const replica = await replicate(provider, wanted, role)
  expect((await replica.query('IDENTIFY_SYSTEM')).rows).toHaveLength(1)
  await expect(replicate(provider, wanted, { ...role, password: 'wrong' })).rejects.toThrow(/authentication failed/)
  await expect(replicate(provider, wanted, { user: 'tsdbadmin', password: 'first password' })).rejects.toThrow(
    /rejects/,
  )
  for (const database of ['tsdb', 'postgres'])
    await expect(loginTo(provider, wanted, { ...role, database })).rejects.toThrow(/rejects/)
  for (const sql of [
    `alter role ${role.user} password 'stolen'`,
    `alter role ${role.user} rename to mine`,
    `grant ${role.user} to tsdbadmin`,
    `set role ${role.user}`,
    `drop role ${role.user}`,
    'select rolpassword from pg_authid',
  ])
    await expect(owner.query(sql), sql).rejects.toThrow(/permission denied|must be/)
  await owner.end()

  const ended = new Promise((resolve) => replica.once('end', resolve))
  await settle(provider, wanted)
  await ended
  await expect(replicate(provider, wanted, role)).rejects.toThrow(/authentication failed/)
  const left = () =>
    ask(provider, wanted, `select string_agg(rolname, ' ') from pg_roles where rolname ~ 'howdah_copy'`)
  await until(async () => (await left()) === 'howdah_copy_mine')
})
