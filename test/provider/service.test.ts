// The life of a service by provider calls alone, on real PostgreSQL.
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ask, loginTo, newWanted, useWorlds, postmasterPid, noProcessBelow, settle } from './service-fixture.ts'
import { verifierOf } from './wanted.ts'
import { until } from '#test/until.ts'

const { newService, newWorld } = useWorlds()

test('a service is created, resized, stopped, started, gets another password and is deleted without a trace', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const created = await newWanted(provider, { size: 'shared' })
  expect((await settle(provider, created)).state).toBe('serving')
  expect(await ask(provider, created, 'show shared_buffers')).toBe('32MB')
  await ask(provider, created, 'create table t as select 7 as n')

  const resized = { ...created, generation: 2, size: { cpu_millis: 500, memory_gbs: 2 } }
  expect((await settle(provider, resized)).state).toBe('serving')
  expect(await ask(provider, resized, 'show shared_buffers')).toBe('512MB')
  expect(await ask(provider, resized, 'select n from t')).toBe('7')

  await ask(provider, resized, 'insert into t values (8)')
  const stopped = { ...resized, generation: 3, power: 'off' as const }
  const nothing = { events: [], snapshots: [], restorable: 'none' }
  expect(await settle(provider, stopped)).toEqual({ state: 'stopped', settled: true, ...nothing })
  await expect(loginTo(provider, stopped)).rejects.toThrow(/ECONNREFUSED/)
  await noProcessBelow(world.directory)

  const started = { ...resized, generation: 4 }
  expect((await settle(provider, started)).events).toEqual([])
  expect(await ask(provider, started, 'select sum(n) from t')).toBe('15')

  const changed = { ...started, generation: 5, password_verifier: verifierOf('second password') }
  await settle(provider, changed)
  expect(await ask(provider, changed, 'select 1', { password: 'second password' })).toBe('1')
  await expect(loginTo(provider, changed)).rejects.toThrow(/password authentication failed/)

  const deleted = { ...changed, generation: 6, deleted: true }
  expect(await provider.service.apply(deleted)).toEqual({
    state: 'absent',
    settled: true,
    events: [],
    snapshots: [],
  })
  expect(await provider.service.apply(deleted)).toEqual({
    state: 'absent',
    settled: true,
    events: [],
    snapshots: [],
  })
  expect(await readdir(join(world.directory, 'services'))).toEqual([])
  expect(await readdir(join(world.directory, 'run'))).toEqual([])
  await noProcessBelow(world.directory)
  expect(await controlGroups(world.installation_id)).toEqual([])
})

test('a delete ends a service whose customers are still connected', async () => {
  const { world, provider, wanted } = await newService()
  const client = await loginTo(provider, wanted)
  const ended = new Promise((resolve) => client.once('end', resolve))
  expect((await settle(provider, { ...wanted, deleted: true })).state).toBe('absent')
  await ended
  await noProcessBelow(world.directory)
})

test('a pass over what holds changes nothing', async () => {
  const world = await newWorld()
  const effects: string[] = []
  const provider = await world.open({ spares: 1, effect: (name) => void effects.push(name) })
  const wanted = await newWanted(provider)
  await settle(provider, wanted)
  // The next pass makes what the next service may need.
  await provider.service.apply(wanted)
  await until(() => effects.includes('spare: rename into place'))
  const pid = await postmasterPid(world, wanted)
  effects.length = 0
  expect(await provider.service.apply(wanted)).toMatchObject({
    state: 'serving',
    settled: true,
    events: [],
    snapshots: [],
  })
  expect(await postmasterPid(world, wanted)).toBe(pid)
  expect(effects).toEqual(['limits: set'])
})

test('another server finds the running database again and leaves it as it is', async () => {
  const world = await newWorld()
  const first = await world.open()
  const wanted = await newWanted(first)
  await settle(first, wanted)
  const pid = await postmasterPid(world, wanted)
  const client = await loginTo(first, wanted)
  await first.close()
  const second = await world.open()
  expect(await second.service.apply(wanted)).toMatchObject({
    state: 'serving',
    settled: true,
    events: [],
    snapshots: [],
  })
  expect(await postmasterPid(world, wanted)).toBe(pid)
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  await client.end()
})

test('extensions that are wanted exist in the database', async () => {
  const { provider, wanted } = await newService({ extensions: ['pg_trgm'] })
  expect(await ask(provider, wanted, `select similarity('word', 'word')`)).toBe('1')
  const more = { ...wanted, generation: 2, extensions: ['pg_trgm', 'hstore'] }
  await settle(provider, more)
  expect(await ask(provider, more, `select 'a=>1'::hstore -> 'a'`)).toBe('1')
})

test('an extension that cannot be made is told in the words of PostgreSQL, and tried again', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = await newWanted(provider, { extensions: ['jsonb_plperl'] })
  const words = /^the extension jsonb_plperl could not be made: required extension "plperl" is not installed;/
  await until(async () => words.test((await provider.service.apply(wanted)).waiting_for ?? ''))
  expect(await settle(provider, { ...wanted, generation: 2, extensions: [] })).toMatchObject({ state: 'serving' })
})

test('a password that the tenant changed in SQL is set back to the wanted one', async () => {
  const { provider, wanted } = await newService()
  await ask(provider, wanted, `alter role tsdbadmin password 'my own'`)
  expect((await settle(provider, wanted)).state).toBe('serving')
  expect(await ask(provider, wanted, 'select 1')).toBe('1')
})

test('a region refuses what it can never make', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const huge = { size: { cpu_millis: 500, memory_gbs: 1_000_000 }, extensions: [] }
  expect(provider.service.refusal(huge)?.message).toMatch(/this region has \d+ GB of memory in all/)
  const busy = { size: { cpu_millis: 10_000_000, memory_gbs: 1 }, extensions: [] }
  expect(provider.service.refusal(busy)?.message).toMatch(/this region has \d+ CPU millis in all/)
  expect(provider.service.refusal({ size: 'shared', extensions: ['nowhere_ext'] })?.message).toMatch(/nowhere_ext/)
  expect(provider.service.refusal({ size: 'shared', extensions: [] })).toBeUndefined()
})

test('two servers that start at once make one template', async () => {
  const world = await newWorld()
  await rm(join(world.directory, 'templates'), { recursive: true })
  const both = await Promise.all([world.open(), world.open()])
  await Promise.all(both.map((provider) => provider.close()))
  const [provider] = both
  expect(await readdir(join(world.directory, 'templates'))).toHaveLength(1)
  expect((await settle(provider, await newWanted(provider))).state).toBe('serving')
})

test('a copy of the template lies ready for the next service, which takes it', async () => {
  const world = await newWorld()
  const provider = await world.open({ spares: 1 })
  const [template = ''] = await readdir(join(world.directory, 'templates'))
  const spare = join(world.directory, 'templates', `${template}.spare`)
  const first = await newWanted(provider)
  await settle(provider, first)
  // A create does not wait for the spare; the next pass makes it.
  await provider.service.apply(first)
  const { ino } = await stat(spare)
  const second = await newWanted(provider)
  expect((await settle(provider, second)).state).toBe('serving')
  expect((await stat(join(world.directory, 'services', second.service_id, 'data'))).ino).toBe(ino)
  const identifier = `select system_identifier::text from pg_control_system()`
  expect(await ask(provider, second, identifier)).not.toBe(await ask(provider, first, identifier))
  await provider.service.apply(second)
  expect((await readdir(join(world.directory, 'templates'))).toSorted()).toEqual([template, `${template}.spare`])
})

test('after several creates at once as many copies lie ready, and the next ones all find one', async () => {
  const world = await newWorld()
  const provider = await world.open({ spares: 1 })
  const createThree = async () => {
    const services = await Promise.all([1, 2, 3].map(() => newWanted(provider, { size: 'shared' })))
    await Promise.all(services.map((wanted) => settle(provider, wanted)))
    for (const wanted of services) await provider.service.apply(wanted)
    return services
  }
  const inodesOf = (paths: readonly string[]) => Promise.all(paths.map(async (path) => (await stat(path)).ino))
  const templates = join(world.directory, 'templates')
  await createThree()
  const spares = (await readdir(templates)).filter((name) => name.includes('.spare'))
  expect(spares).toHaveLength(3)
  const inodes = await inodesOf(spares.map((name) => join(templates, name)))
  const next = await createThree()
  const taken = await inodesOf(next.map(({ service_id }) => join(world.directory, 'services', service_id, 'data')))
  expect(new Set(taken)).toEqual(new Set(inodes))
})

test('opening the provider removes unused templates, and unfinished ones of dead processes', async () => {
  const world = await newWorld()
  const templates = join(world.directory, 'templates')
  const [template = ''] = await readdir(templates)
  const dead = 'making-4194305-1-0a1b2c3d'
  for (const name of [
    '18.0-1',
    '18.0-1.spare',
    '18.0-1.spare-2',
    `${template}.spare`,
    `${template}.${dead}`,
    `${template}.spare.${dead}`,
  ]) {
    await mkdir(join(templates, name, 'base'), { recursive: true })
  }
  await (await world.open()).close()
  expect((await readdir(templates)).toSorted()).toEqual([template, `${template}.spare`])
})

test('a new service has its whole first WAL file before it, so that its start makes no other', async () => {
  const { world, wanted } = await newService()
  const files = await readdir(join(world.directory, 'services', wanted.service_id, 'data', 'pg_wal'))
  expect(files.filter((name) => /^[0-9A-F]{24}$/.test(name))).toHaveLength(1)
})

test('a directory whose path is too long for sockets is refused', async () => {
  const world = await newWorld()
  const deep = join(world.directory, 'd'.repeat(100))
  await expect(world.open({ directory: deep })).rejects.toThrow(/too long for unix sockets/)
})

async function controlGroups(installation_id: string): Promise<string[]> {
  const names = await readdir('/sys/fs/cgroup', { recursive: true }).catch(() => [])
  return names.filter((name) => name.endsWith(`howdah-${installation_id}`))
}
