// The log of a service whose files are damaged, as they are after a crash of the machine.
import { appendFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Static } from 'typebox'
import { expect, test } from 'vitest'
import type { ServiceLogs } from '#contract/log.ts'
import { loginTo } from '#test/database.ts'
import { startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'

const howdah = shared(startInstallation)

test('a line that is half written, and garbage, are passed over', async () => {
  const service = await howdah.createService({ cpu_millis: 'shared' })
  const read = async (search: string) => {
    const path = `${howdah.services}/${service.service_id}/logs?search=${encodeURIComponent(search)}`
    return howdah.call<Static<typeof ServiceLogs>>('GET', path)
  }
  const logged = (term: string, count: number) => until(async () => (await read(term)).body.logs.length === count)
  const client = await loginTo(howdah.server.api_url, service, service.initial_password)
  try {
    // The terms are not in the statements, which PostgreSQL logs too: beside its messages, and when one takes long.
    await client.query(`do $$ begin for n in 1..500 loop raise log '%', 'ent' || 'ry ' || n; end loop; end $$`)
    await logged('entry', 500)
    const folder = join(howdah.config.data_dir, 'local', 'services', service.service_id, 'log')
    const [file = ''] = (await readdir(folder)).filter((name) => name.endsWith('.json')).toReversed()
    await appendFile(join(folder, file), 'garbage\n{"timestamp":"2026-')
    const { status, body } = await read('entry')
    expect([status, body.entries?.length]).toEqual([200, 500])
    // PostgreSQL's next line, of whichever process, is glued to the half one; from then on all is well again.
    await client.query(`do $$ begin raise log 'glued'; raise log '%', 'well' || ' again'; end $$`)
    await logged('well again', 1)
    expect((await read('garbage')).body.logs).toEqual([])
  } finally {
    await client.end()
  }
})
