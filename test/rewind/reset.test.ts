// A reset that cannot be made costs the fork nothing: neither while it is tried, nor when it is given up.
import { expect, test } from 'vitest'
import { ask } from '#test/database.ts'
import { startInstallation, type ReadyService } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { momentNow, until } from '#test/until.ts'

type Seen = { id: string; kind: string; status: string; taken?: string }

const howdah = shared(startInstallation)

test('a fork whose mask fails in a reset keeps its data, its snapshots and every moment', async () => {
  const parent = await howdah.createService({ cpu_millis: 'shared' })
  const { api_url } = howdah.server
  const inParent = (text: string) => ask(api_url, parent, parent.initial_password, text)
  await inParent(`create table people as select 1 as id, 'Ada' as name`)
  const mask = `update people set name = 'person ' || id`
  const asked = { fork_strategy: 'NOW', mask }
  const { body } = await howdah.call<ReadyService>('POST', `${howdah.services}/${parent.service_id}/forkService`, asked)
  const fork = { ...body, ...(await howdah.untilStatus(body.service_id, 'READY')) }
  const at = `${howdah.services}/${fork.service_id}`
  const listed = async () => (await howdah.call<Seen[]>('GET', `${at}/snapshots`)).body
  const [own] = await until(async () => {
    const found = (await listed()).filter(({ status }) => status === 'complete')
    return found.length > 0 && found
  })
  const inFork = (text: string) => ask(api_url, fork, body.initial_password, text)
  await inFork(`insert into people values (2, 'kept')`)
  const moment = await momentNow()
  await inParent('drop table people')

  expect((await howdah.call('POST', `${at}/reset`)).status).toBe(202)
  const isTold = ({ message }: { message: string }) => message.startsWith('its data stays as it is')
  await until(async () => (await howdah.eventsOf(fork.service_id)).some(isTold))
  await howdah.untilStatus(fork.service_id, 'READY')

  expect(await listed()).toContainEqual(own)
  expect(await inFork('select count(*) from people')).toEqual(['2'])
  const rewind = await howdah.call('POST', `${at}/rewind`, { target_time: moment.toISOString() })
  expect(rewind.body.status).toBe('CONFIGURING')
  await howdah.untilStatus(fork.service_id, 'READY')
  expect(await inFork('select count(*) from people')).toEqual(['2'])
})
