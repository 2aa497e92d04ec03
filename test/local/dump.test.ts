// A database is moved by a dump: what the control plane keeps in it, such as the helpers for roles and what runs at each login, is in no
// dump, and a fresh service takes it without an error.
import { execFile, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { connectionLine, connectionOf } from '#contract/connection.ts'
import type { Service } from '#contract/service.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { loginTo } from '#test/database.ts'
import { startWithDatabases } from '#test/http/region.ts'
import type { ReadyService, TestInstallation } from '#test/installation.ts'

/** An older one does not read databases of the bundled server. */
const major_min = 18
const programs = (process.env['PATH'] ?? '').split(':').filter((folder) => {
  const { stdout } = spawnSync(join(folder, 'pg_dump'), ['--version'], { encoding: 'utf8' })
  return Number(/PostgreSQL\) (\d+)/.exec(stdout ?? '')?.[1] ?? 0) >= major_min
})
const why = programs.length === 0 ? ` (skipped: no pg_dump of PostgreSQL ${major_min} is on the PATH)` : ''

const made = `
  select timescale_functions.create_bare_readonly_role('agent', 'of the agent');
  create schema shop;
  create table shop.orders (id bigint generated always as identity primary key, item text not null);
  insert into shop.orders (item) select 'item ' || n from generate_series(1, 100) n;
  create view shop.latest as select * from shop.orders order by id desc limit 10;
  create function shop.count() returns bigint language sql begin atomic select count(*) from shop.orders; end;
  grant usage on schema shop to agent;
  grant select on all tables in schema shop to agent;
  alter default privileges in schema shop grant select on tables to agent;
  comment on schema public is 'of the shop'`

test.skipIf(why)(`a dump of a database is restored into a fresh service without an error${why}`, async () => {
  const howdah = await startWithDatabases()
  const folder = newDataDir()
  onTestFinished(async () => {
    await howdah.stop()
    await removeDataDir(folder)
  })
  const [from, to] = [await newService(howdah, 'from'), await newService(howdah, 'to')]
  const sql = async ({ service }: Made, text: string) => {
    const session = await loginTo(howdah.server.api_url, service, service.initial_password)
    try {
      return (await session.query({ text, rowMode: 'array' })).rows
    } finally {
      await session.end()
    }
  }
  await sql(from, made)
  // A dump has no roles.
  await sql(to, `select timescale_functions.create_bare_readonly_role('agent', 'of the agent')`)
  writeFileSync(join(folder, 'howdah-ca.pem'), await (await fetch(`${howdah.server.api_url}/ca.pem`)).text())
  const run = async ({ service }: Made, line: string) => {
    const env = { PATH: `${programs[0]}:/usr/bin:/bin`, PGPASSWORD: service.initial_password }
    return await promisify(execFile)('sh', ['-c', line], { cwd: folder, env })
  }
  expect(await run(from, from.lineOf('pg_dump'))).toEqual({ stdout: '', stderr: '' })
  const list = (await run(from, 'pg_restore --list tsdb.dump')).stdout
  expect(list).toContain('TABLE DATA shop orders')
  expect(list).not.toMatch(/howdah|timescale_functions|EVENT TRIGGER/)
  const restore = to
    .lineOf('pg_dump')
    .replace(/^pg_dump -d/, 'pg_restore --exit-on-error -d')
    .replace('-Fc -f ', '')
  expect(await run(to, restore)).toEqual({ stdout: '', stderr: '' })
  expect(await sql(to, 'select shop.count(), (select item from shop.latest limit 1)')).toEqual([['100', 'item 100']])
  expect(await sql(to, `select has_table_privilege('agent', 'shop.orders', 'select')`)).toEqual([[true]])
})

type Made = { service: ReadyService; lineOf: (format: 'pg_dump') => string }

async function newService(howdah: TestInstallation, name: string): Promise<Made> {
  const service = await howdah.createService({ name, cpu_millis: 'shared' })
  const { body } = await howdah.call<Service>('GET', `${howdah.services}/${service.service_id}`)
  const connection = connectionOf(body)
  if (connection === undefined) throw new Error('a service has a connection')
  return { service, lineOf: (format) => connectionLine(connection, format, { ca: 'howdah-ca.pem' }) }
}
