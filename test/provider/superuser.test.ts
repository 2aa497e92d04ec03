// The control plane's own sessions at a service end, whatever the server does meanwhile: a look that waited for one would
// never come to the point of replacing a primary that stands still.
import { expect, test } from 'vitest'
import { placeOf } from '#providers/local/layout.ts'
import { withSuperuser } from '#providers/local/postgres/superuser.ts'
import { as_root, newWanted, settle, useWorlds } from './service-fixture.ts'

const { newWorld } = useWorlds()

test('a session whose server stands still is left, not waited for', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = await newWanted(provider, { size: 'shared' })
  await settle(provider, wanted)
  const place = placeOf(world.directory, wanted.service_id, wanted.endpoint.port, as_root)
  let stopped = 0
  try {
    const answer = await withSuperuser(place, {}, async (client) => {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      stopped = rows[0]?.pid ?? 0
      process.kill(stopped, 'SIGSTOP')
      return 'what was asked for'
    })
    expect(answer).toBe('what was asked for')
  } finally {
    process.kill(stopped, 'SIGCONT')
  }
}, 30_000)
