// The connection pooler as its customers meet it: who gets in by which door, and what each of them may do.
import { once } from 'node:events'
import { connect } from 'node:net'
import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { withSuperuser } from '#providers/local/postgres/superuser.ts'
import { nodeOf } from '#providers/local/host/layout.ts'
import { as_root, ask, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { verifierOf } from '#test/provider/wanted.ts'
import { until } from '#test/until.ts'
import { loginWithoutPassword } from './empty-password.ts'
import { askThrough, loginThrough, newPooled, pooler_version, poolerPid, poolerTest } from './pooled.ts'
import { isAtLeast } from '#providers/postgres/pooler-settings.ts'

const { newWorld } = useWorlds()

const transactions = { database: 'tsdb_transaction' }

poolerTest('every role gets in, by session and by transaction, and a new password holds at once', async () => {
  const pooled = await newPooled(await newWorld())
  const { provider, wanted } = pooled
  const own_backend = 'select pg_backend_pid()'

  let session = await loginThrough(pooled)
  await session.query('create temp table kept as select 7 as n')
  expect((await session.query('select n from kept')).rows).toEqual([{ n: 7 }])
  expect(await askThrough(pooled, own_backend, transactions)).toBe(await askThrough(pooled, own_backend, transactions))

  await session.query(`create role app login password 'first secret'`)
  const app = { user: 'app', password: 'first secret' }
  expect(await askThrough(pooled, 'select current_user', app)).toBe('app')
  expect(await askThrough(pooled, 'select current_user', { ...app, ...transactions })).toBe('app')
  await session.query(`alter role app password 'second secret'`)
  const changed = { ...app, password: 'second secret' }
  await expect(askThrough(pooled, 'select 1', app)).rejects.toThrow(/authentication failed/)
  expect(await askThrough(pooled, 'select current_user', changed)).toBe('app')
  // Another database of the same name is served like the first one.
  await session.end()
  await ask(provider, wanted, 'create database other')
  for (const sql of ['drop database tsdb with (force)', 'create database tsdb template template0']) {
    await ask(provider, wanted, sql, { database: 'other' })
  }
  await settle(provider, wanted)
  expect(await askThrough(pooled, 'select current_user', changed)).toBe('app')
  session = await loginThrough(pooled)
  await session.query('create temp table kept as select 7 as n')
  await session.query('alter role app nologin')
  await expect(askThrough(pooled, 'select 1', changed)).rejects.toThrow(/no such user|authentication failed/)

  const pid = await poolerPid(pooled.world, wanted)
  const renewed = { ...wanted, generation: 2, password_verifier: verifierOf('second password') }
  await settle(provider, renewed)
  expect(await askThrough(pooled, 'select current_user', { password: 'second password' })).toBe('tsdbadmin')
  await expect(askThrough(pooled, 'select 1')).rejects.toThrow(/authentication failed/)
  expect((await session.query('select n from kept')).rows).toEqual([{ n: 7 }])
  expect(await poolerPid(pooled.world, wanted)).toBe(pid)
  await session.end()
})

const why = isAtLeast(pooler_version, '1.21') ? '' : ' (skipped: it takes PgBouncer 1.21)'

test.skipIf(why)(`what is prepared stays prepared from transaction to transaction${why}`, async () => {
  const pooled = await newPooled(await newWorld())
  const clients = await Promise.all([1, 2, 3].map(() => loginThrough(pooled, transactions)))
  const ask = (client: pg.Client) => client.query({ name: 'mine', text: 'select $1::int as n', values: [7] })
  for (const round of [1, 2, 3]) {
    const answers = await Promise.all(clients.map(ask))
    expect(
      answers.map(({ rows }) => rows),
      `round ${round}`,
    ).toEqual([[{ n: 7 }], [{ n: 7 }], [{ n: 7 }]])
  }
  await Promise.all(clients.map((client) => client.end()))
})

poolerTest('the master role may read statistics, and no role may give commands', async () => {
  const pooled = await newPooled(await newWorld())
  const statistics = { database: 'pgbouncer' }
  expect(await askThrough(pooled, 'show version', statistics)).toMatch(/^PgBouncer/)
  for (const command of ['pause', 'reload', 'shutdown', 'kill tsdb', 'set log_connections = 1']) {
    await expect(askThrough(pooled, command, statistics)).rejects.toThrow(/admin access needed/)
  }
  await askThrough(pooled, `create role app login password 'a secret'`)
  await expect(askThrough(pooled, 'show pools', { ...statistics, user: 'app', password: 'a secret' })).rejects.toThrow()
})

poolerTest('who must not get in does not', async () => {
  const pooled = await newPooled(await newWorld())
  const { provider, wanted, world } = pooled
  const knock = (login: Parameters<typeof loginThrough>[1]) => askThrough(pooled, 'select 1', login)
  await expect(knock({ password: 'a wrong one' })).rejects.toThrow(/authentication failed/)
  await expect(knock({ tls: false })).rejects.toThrow(/SSL required/)
  await expect(knock({ database: 'postgres' })).rejects.toThrow(/no such database/)
  await expect(knock({ user: 'nobody' })).rejects.toThrow(/no such user/)

  const node = nodeOf(world.directory, wanted.service_id, wanted.home.port, as_root)
  await withSuperuser(node, {}, (client) =>
    client.query(`create role boss superuser login password 'a secret';
                  create role late login password 'a secret' valid until '2020-01-01'; create role bare login`),
  )
  for (const user of ['boss', 'late', 'bare', 'postgres']) {
    await expect(knock({ user, password: 'a secret' })).rejects.toThrow(/no such user/)
  }
  // The roles without a password, which PgBouncer by itself would let in with an empty one.
  for (const user of ['howdah_pooler', 'howdah_standby', 'pgbouncer', 'bare', 'tsdbadmin']) {
    for (const database of ['tsdb', 'tsdb_transaction', 'pgbouncer']) {
      const answers = await loginWithoutPassword(wanted.pooler, provider.authority_pem, { user, database })
      expect({ user, database, answers }).toMatchObject({ answers: expect.stringMatching(/^R{0,2}E$/) })
    }
  }
  const looked_up = `select count(*) from pg_catalog.howdah_pooler_lookup('tsdbadmin')`
  expect(await askThrough(pooled, looked_up)).toBe('0')
})

poolerTest('there may be 20 clients for each connection by transaction and one by session, and no more', async () => {
  const pooled = await newPooled(await newWorld())
  const { pooler } = pooled.wanted
  const clients = (50 - 17) * 21
  const knocking = Array.from({ length: clients }, () => connect(pooler))
  onTestFinished(() => {
    for (const socket of knocking) socket.destroy()
  })
  // A connection whose TLS request is answered counts as a client.
  for (const socket of knocking) socket.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]))
  await Promise.all(knocking.map((socket) => once(socket, 'data')))
  await expect(askThrough(pooled, 'select 1')).rejects.toThrow(/no more connections allowed/)
  // It serves all that it may serve, which is no reason to do anything about it.
  expect(await settle(pooled.provider, pooled.wanted)).toMatchObject({ state: 'serving', events: [] })
  for (const socket of knocking.splice(0, 100)) socket.destroy()
  await until(async () => (await askThrough(pooled, 'select 1')) === '1', { what: 'there is room for a client' })
})

poolerTest('a role has 17 connections less than there are, by session and by transaction together', async () => {
  const pooled = await newPooled(await newWorld())
  const { provider, wanted } = pooled
  const pooled_connections =
    'select count(distinct pid) from pg_stat_activity where client_port = -1 and usename = user'
  const sessions = await Promise.all(Array.from({ length: 50 - 17 }, () => loginThrough(pooled)))
  await Promise.all(sessions.map((session) => session.query('select 1')))
  expect(await ask(provider, wanted, pooled_connections)).toBe('33')

  const waiting = askThrough(pooled, pooled_connections, transactions)
  expect(await ask(provider, wanted, pooled_connections)).toBe('33')
  await sessions.pop()?.end()
  // Its connection replaces a connection that PgBouncer has closed and PostgreSQL may still be closing.
  expect(['33', '34']).toContain(await waiting)
  await until(async () => (await ask(provider, wanted, pooled_connections)) === '33')
  await Promise.all(sessions.map((session) => session.end()))
})
