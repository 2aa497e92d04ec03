// A dump of the metadata store gives no password, also where the Idempotency-Key of a creation is easy to guess.
import { hkdfSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ask } from '#test/database.ts'
import { openCallers } from '#test/http/callers.ts'
import { type ReadyService, startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'

const installation = shared(startInstallation)
const callers = shared(() => openCallers(installation))

const create = (key: string) =>
  installation.call(
    'POST',
    installation.services,
    { name: 'guessable', cpu_millis: 'shared' },
    { 'idempotency-key': key },
  )

test('a thief of the store who guesses the key cannot derive the password', async () => {
  const key = 'deploy-1'
  const { body } = await create(key)
  const rows = await callers.db.query<{ salt: Buffer; key_hash: Buffer; request_hash: Buffer }>(
    'select salt, key_hash, request_hash from idempotency_keys where service_id = $1',
    [body.service_id],
  )
  const stored = rows.flatMap(({ salt, key_hash, request_hash }) => [
    salt,
    salt.subarray(0, 16),
    salt.subarray(16),
    key_hash,
    request_hash,
  ])
  expect(stored).toHaveLength(5)
  const labels = ['howdah initial password', `initial password ${key}`, 'initial password', '']
  const inputs = [Buffer.from(key), Buffer.of(), ...stored]
  const derived = inputs.flatMap((input) =>
    stored.flatMap((salt) =>
      labels.map((label) => Buffer.from(hkdfSync('sha256', input, salt, label, 24)).toString('base64url')),
    ),
  )
  expect(derived).not.toContain(body.initial_password)
  const everything = await callers.db.query<{ text: string }>('select s::text as text from services s')
  expect(everything.some(({ text }) => text.includes(body.initial_password ?? 'missing'))).toBe(false)
})

test('the same request gets the same password again, also after a restart, and it is the right one', async () => {
  const first = await create('deploy-2')
  await installation.restart()
  const again = await create('deploy-2')
  expect([again.body.service_id, again.body.initial_password]).toEqual([
    first.body.service_id,
    first.body.initial_password,
  ])
  const service = first.body as ReadyService // the contract's own answer to a create
  await installation.untilStatus(service.service_id, 'READY')
  const { api_url } = installation.server
  expect(await ask(api_url, service, service.initial_password, 'select current_user')).toEqual(['tsdbadmin'])
})

test('a server that cannot know the password says so, and neither makes one up nor a second service', async () => {
  const first = await create('deploy-3')
  const refusal = { status: 503, body: { code: 'UNAVAILABLE', message: expect.stringContaining('choose a new key') } }
  // Another installation of the same store, or this one after its secret was lost.
  const file = join(installation.config.data_dir, 'secret.key')
  const secret = readFileSync(file)
  writeFileSync(file, `${Buffer.alloc(32, 7).toString('base64url')}\n`)
  await installation.restart()
  expect(await create('deploy-3')).toMatchObject(refusal)
  writeFileSync(file, secret)
  await installation.restart()
  expect((await create('deploy-3')).body.initial_password).toBe(first.body.initial_password)
  // As the upgrade leaves keys of before.
  await callers.db.query(`update idempotency_keys set salt = '' where service_id = $1`, [first.body.service_id])
  expect(await create('deploy-3')).toMatchObject(refusal)
  const [row] = await callers.db.query<{ count: number }>(
    `select count(*)::int as count from services where name = 'guessable'`,
  )
  expect(row?.count).toBe(3)
})
