// /metrics tells of every service of every project: it is for the operator of the server, and for no other user of the machine.
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startInstallation } from '#test/installation.ts'
import { metricsTokenOf, scrape } from '#test/metrics-scrape.ts'
import { as_ordinary_user } from '#test/privileges.ts'
import { shared } from '#test/shared.ts'

const installation = shared(startInstallation)

const ask = async (headers: Record<string, string>) => {
  const answer = await fetch(`${installation.server.url}/metrics`, { headers })
  return { status: answer.status, text: await answer.text(), challenge: answer.headers.get('www-authenticate') }
}

test('a local user without the token reads nothing', async () => {
  const token = metricsTokenOf(installation)
  const authorizations = [
    {},
    { authorization: '' },
    { authorization: 'Bearer' },
    { authorization: 'Bearer something-else' },
    { authorization: `Bearer ${token.slice(0, -1)}` },
    { authorization: `Bearer ${token}x` },
    { authorization: `Basic ${token}` },
    // Not even the owner of a project: other projects are in there.
    { authorization: `Bearer ${installation.token}` },
  ]
  for (const headers of authorizations) {
    const { status, text, challenge } = await ask(headers)
    expect([status, challenge]).toEqual([401, 'Bearer'])
    expect(text).toContain('"code":"UNAUTHORIZED"')
    expect(text).not.toContain('howdah_')
  }
})

test('a reader with the token reads all, also through a proxy', async () => {
  expect(await scrape(installation)).toMatchObject({ status: 200, text: expect.stringContaining('howdah_') })
  const authorization = `Bearer ${metricsTokenOf(installation)}`
  expect((await ask({ authorization, 'x-forwarded-for': '192.0.2.1' })).status).toBe(200)
})

test('the token is its owner’s alone, and stays', async () => {
  const file = join(installation.config.data_dir, 'metrics-token')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(statSync(file).uid).toBe(process.getuid?.())
  const token = metricsTokenOf(installation)
  expect(token).toMatch(/^[\w-]{43}$/)
  await installation.restart()
  expect(metricsTokenOf(installation)).toBe(token)
})

const why = process.getuid?.() === 0 ? '' : ' (skipped: only root can run as another user)'

test.skipIf(why)(`another user of the machine cannot read the secrets of the data directory${why}`, () => {
  for (const name of ['metrics-token', 'secret.key']) {
    const [program, ...args] = [...as_ordinary_user, 'cat', join(installation.config.data_dir, name)]
    const { status, stdout } = spawnSync(program, args, { encoding: 'utf8' })
    expect([name, status, stdout]).toEqual([name, 1, ''])
  }
})
