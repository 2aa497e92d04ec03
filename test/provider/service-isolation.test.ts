// What keeps services apart from one another and from the control plane, seen from inside a service.
import { execFile } from 'node:child_process'
import { readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { identifierOf } from '#providers/local/postgres/system-identifier.ts'
import { as_root, ask, loginTo, newWanted, useWorlds, postmasterPid, settle } from './service-fixture.ts'
import { verifierOf } from './wanted.ts'

const { newService, newWorld } = useWorlds()

test('the master role administers its database and is no superuser', async () => {
  const { provider, wanted } = await newService({ size: 'shared' })
  expect(await ask(provider, wanted, 'select rolsuper from pg_roles where rolname = current_user')).toBe('false')
  expect(await ask(provider, wanted, `select pg_get_userbyid(datdba) from pg_database where datname = 'tsdb'`)).toBe(
    'tsdbadmin',
  )
  const client = await loginTo(provider, wanted)
  await client.query(`create role app login password 'app password'`)
  await client.query('create database other')
  await client.query('create table public.t (n int)')
  await client.query('set role app')
  await client.query('reset role')
  await client.query('select * from pg_stat_activity')
  await expect(client.query('alter role tsdbadmin superuser')).rejects.toThrow(/permission denied/)
  await expect(client.query('grant postgres to tsdbadmin')).rejects.toThrow(/permission denied/)
  await expect(client.query(`alter role postgres password 'mine'`)).rejects.toThrow(/permission denied/)
  await expect(client.query(`copy t from program 'id'`)).rejects.toThrow(/permission denied/)
  await expect(client.query(`select pg_read_file('/etc/passwd')`)).rejects.toThrow(/permission denied/)
  await expect(client.query('alter system set ssl = off')).rejects.toThrow(/permission denied/)
  await client.end()
  expect(await ask(provider, wanted, 'select current_user', { user: 'app', password: 'app password' })).toBe('app')
  await expect(
    loginTo(provider, wanted, { user: 'app', password: 'app password', database: 'postgres' }),
  ).rejects.toThrow(/permission denied for database/)
})

test('a login without TLS, without a password, or as the superuser is refused', async () => {
  const { provider, wanted } = await newService({ size: 'shared' })
  await expect(loginTo(provider, wanted, { tls: false })).rejects.toThrow(/no encryption|no pg_hba.conf entry/)
  await expect(loginTo(provider, wanted, { password: 'wrong' })).rejects.toThrow(/password authentication failed/)
  await expect(loginTo(provider, wanted, { user: 'postgres', database: 'postgres' })).rejects.toThrow(/rejects/)
})

test('two services have identities of their own, and neither can read the other', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const one = await newWanted(provider, { size: 'shared' })
  const other = await newWanted(provider, { size: 'shared', password_verifier: verifierOf('other password') })
  await Promise.all([settle(provider, one), settle(provider, other)])
  const [first, second] = await Promise.all([one, other].map((each) => readFile(controlOf(each.service_id))))
  expect(first && identifierOf(first)).not.toBe(second && identifierOf(second))
  await expect(loginTo(provider, one, { password: 'other password' })).rejects.toThrow(/password authentication failed/)
  for (const each of [one, other]) {
    expect((await stat(join(world.directory, 'services', each.service_id, 'data'))).mode & 0o077).toBe(0)
  }
  if (!as_root) return
  const users = await Promise.all(
    [one, other].map(async (each) => (await stat(`/proc/${await postmasterPid(world, each)}`)).uid),
  )
  expect(users).toEqual([70_000 + one.home.port, 70_000 + other.home.port])
  const readAs = (uid: number, path: string) =>
    promisify(execFile)('/bin/cat', [path], { uid, gid: uid, env: {} }).then(
      () => 'read',
      () => 'refused',
    )
  expect(await readAs(70_000 + one.home.port, controlOf(one.service_id))).toBe('read')
  expect(await readAs(70_000 + other.home.port, controlOf(one.service_id))).toBe('refused')
  const key = join(world.directory, 'services', one.service_id, 'server.pem')
  expect(await readAs(70_000 + other.home.port, key)).toBe('refused')

  function controlOf(service_id: string): string {
    return join(world.directory, 'services', service_id, 'data', 'global', 'pg_control')
  }
})

test('no verifier is in the log or on a command line of a service', async () => {
  const { world, wanted } = await newService({ size: 'shared' })
  const secret = wanted.password_verifier.split('$')[2] ?? ''
  const log = join(world.directory, 'services', wanted.service_id, 'log')
  for (const name of await readdir(log)) expect(await readFile(join(log, name), 'utf8')).not.toContain(secret)
  const command = await readFile(`/proc/${await postmasterPid(world, wanted)}/cmdline`, 'utf8')
  expect(command).not.toContain(secret)
})
