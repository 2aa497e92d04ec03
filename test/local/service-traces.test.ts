// What a service leaves on this machine: no password that ever appeared is anywhere at rest, and after its deletion nothing is left.
// And what the machine itself cannot give is refused in its own words.
import { execFile } from 'node:child_process'
import { totalmem } from 'node:os'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { sizes } from '#contract/size.ts'
import { newLog } from '#server/log.ts'
import { ask, openStoreOf } from '#test/database.ts'
import { startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { orphansOf } from '#test/traces.ts'

const howdah = shared(() => startInstallation({ log: newLog('debug', { write: (line) => log_lines.push(line) }) }))
const log_lines: string[] = []

test('no password is anywhere at rest: not in the data directory, not in the store, not in the log', async () => {
  const service = await howdah.createService({ name: 'orders', cpu_millis: 'shared' })
  const path = (verb = '') => `${howdah.services}/${service.service_id}${verb}`
  const passwords = [service.initial_password, 'correct horse Ünïcode']
  const logIn = (password = '') => ask(howdah.server.api_url, service, password, 'select 1')
  await logIn(passwords[0])
  await howdah.call('POST', path('/rename'), { name: 'invoices' })
  await howdah.call('POST', path('/resize'), { cpu_millis: '500', memory_gbs: '2' })
  await howdah.untilStatus(service.service_id, 'READY')
  await howdah.call('POST', path('/stop'))
  await howdah.untilStatus(service.service_id, 'PAUSED')
  await howdah.call('POST', path('/start'))
  await howdah.untilStatus(service.service_id, 'READY')
  expect((await howdah.call('POST', path('/updatePassword'), { password: passwords[1] })).status).toBe(204)
  await logIn(passwords[1])
  await expect(logIn(passwords[0])).rejects.toThrow('password authentication failed')

  const { data_dir } = howdah.config
  // Proves that the search would find it: the name is in the store's files.
  expect(await filesWith('invoices', data_dir)).not.toEqual([])
  for (const secret of passwords) {
    expect(await filesWith(secret, data_dir)).toEqual([])
    expect(log_lines.filter((line) => line.includes(secret))).toEqual([])
  }
  expect(log_lines.filter((line) => line.includes(service.service_id))).not.toEqual([])
  const rows = await storeAsText()
  expect(rows.filter((row) => row.includes('invoices'))).not.toEqual([])
  for (const secret of passwords) expect(rows.filter((row) => row.includes(secret))).toEqual([])
})

test('nothing of a deleted service is left on the host', async () => {
  const { service_id } = await howdah.createService({ cpu_millis: 'shared' })
  for (const { service_id: id } of (await howdah.call<{ service_id: string }[]>('GET', howdah.services)).body) {
    expect((await howdah.call('DELETE', `${howdah.services}/${id}`)).status).toBe(202)
    await howdah.untilStatus(id, 'removed')
  }
  expect((await howdah.call('GET', `${howdah.services}/${service_id}`)).status).toBe(404)
  expect(orphansOf(howdah.config.data_dir, [])).toEqual([])
})

test('more memory than the host has is refused with how much there is', async () => {
  const gbs = Math.ceil(totalmem() / 1024 ** 3)
  const too_large = sizes.find((size) => size.memory_gbs > gbs)
  // A host of 128 GB can hold them all.
  if (too_large === undefined) return
  const { memory_gbs } = too_large
  const refused = await howdah.call('POST', howdah.services, { name: 'huge', memory_gbs: String(memory_gbs) })
  const message = `this region has ${gbs} GB of memory in all, less than the ${memory_gbs} GB asked for`
  expect(refused.status).toBe(400)
  expect(JSON.stringify(refused.body)).toContain(message)
})

test('an addon whose extension no installation has is refused by name, with where it was searched', async () => {
  const [region] = howdah.server.regions.values()
  for (const [addon, extension] of Object.entries({ 'time-series': 'timescaledb', ai: 'vector' })) {
    if (region?.service.refusal({ extensions: [extension] }) === undefined) continue
    const refused = await howdah.call('POST', howdah.services, { name: 'added', addons: [addon] })
    expect(refused.status).toBe(400)
    for (const part of [extension, '/bin', '--postgres-directories'])
      expect(JSON.stringify(refused.body)).toContain(part)
  }
})

/** As bytes, through all files: data, WAL, logs and settings, of the service and of the store. */
async function filesWith(text: string, folder: string): Promise<string[]> {
  const grep = promisify(execFile)('grep', ['-rlsaF', '-e', text, folder])
  // Its exit code says "nothing found", and also that a file of a living database went away meanwhile.
  const { stdout } = await grep.catch((failure: { stdout: string }) => failure)
  return stdout.split('\n').filter((line) => line !== '')
}

/** Every row of every table, as PostgreSQL writes it. */
async function storeAsText(): Promise<string[]> {
  const db = openStoreOf(howdah)
  try {
    const tables = await db.query<{ name: string }>(
      `select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public'`,
    )
    const rows = await Promise.all(
      tables.map(({ name }) => db.query<{ row: string }>(`select ${name}::text as row from ${name}`)),
    )
    return rows.flat().map(({ row }) => row)
  } finally {
    await db.close()
  }
}
