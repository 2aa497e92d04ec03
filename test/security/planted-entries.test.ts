// A service's user plants links, pipes and folders where PostgreSQL's files belong. What must never happen: the control plane
// reads, changes, gives away or removes what lies behind a link, speaks to another service's server, or waits for a pipe.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import type { ObservedService, ServiceSource, WantedService } from '#providers/provider.ts'
import { listPids } from '#test/data-dir.ts'
import { ask, newWanted, settle, useWorlds, type World } from '#test/provider/service-fixture.ts'
import { verifierOf } from '#test/provider/wanted.ts'
import { dataOf, homeOf, nodePid, withReplicas, withSwitchover } from '#test/provider/standby-fixture.ts'
import { sharedMemoryOf } from '#test/shared-memory.ts'
import { until } from '#test/until.ts'
import { newEndpoint } from '#test/addresses.ts'
import { asServiceUser, keepsDoing, newVictim, only_root } from './service-user.ts'

const { newService, newWorld } = useWorlds()

async function newReplicated() {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = withReplicas(await newWanted(provider, { size: 'shared' }), 1, 1, 0)
  await settle(provider, wanted)
  return { world, provider, wanted }
}

/** Passes until the setback names the entry. */
async function setbackOver(provider: LocalProvider, wanted: WantedService, entry: string): Promise<ObservedService> {
  return await until(
    async () => {
      const observed = await provider.service.apply(wanted)
      return observed.waiting_for?.includes(entry) && observed
    },
    { what: `a setback names ${entry}` },
  )
}

async function isDeleted(world: World, provider: LocalProvider, wanted: WantedService): Promise<void> {
  await settle(provider, { ...wanted, generation: wanted.generation + 9, deleted: true })
  expect(readdirSync(join(world.directory, 'services'))).not.toContain(wanted.service_id)
}

test.skipIf(only_root)(
  `a history whose copy is swapped for a link hands over no file of root${only_root}`,
  async () => {
    const { world, wanted } = await newReplicated()
    const victim = newVictim()
    const plant =
      'i=2; while [ $i -lt 300 ]; do echo "1 0/0 x" > "$1/$(printf %08X $i).history"; i=$((i+1)); done; touch "$1/planted"'
    const pg_wal = join(dataOf(world, wanted, 0), 'pg_wal')
    const swap = `for my $n (2..300) {
    my $f = sprintf("%s/%08X.history.new", $ARGV[0], $n);
    if (-e $f) { unlink $f; symlink $ARGV[1], $f }
  }`
    keepsDoing(wanted, swap, join(homeOf(world, wanted), 'archive'), victim.file)
    // The moment at which the primary has ended and the next one is about to be told which timelines are taken.
    const effect = async (name: string) => {
      if (name === 'replica: SIGQUIT') await asServiceUser(wanted, plant, pg_wal)
    }
    const provider = await world.open({ effect })
    const asked = withSwitchover(wanted, 1)
    await until(async () => {
      // An attacker may win against its own service, and a pass fails.
      await provider.service.apply(asked).catch(() => undefined)
      return existsSync(join(pg_wal, 'planted'))
    })
    for (let pass = 0; pass < 3; pass += 1) await provider.service.apply(asked).catch(() => undefined)
    expect(victim.damage()).toBe('')
  },
)

test.skipIf(only_root)(`a folder of slots that is a link empties no folder of root${only_root}`, async () => {
  const { world, provider, wanted } = await newReplicated()
  const victim = newVictim()
  const data = dataOf(world, wanted, 0)
  await asServiceUser(wanted, 'mv "$1/pg_replslot" "$1/was"; ln -s "$2" "$1/pg_replslot"', data, victim.folder)
  process.kill(await nodePid(world, wanted, 0), 'SIGKILL')
  await setbackOver(provider, wanted, 'pg_replslot')
  expect(victim.damage()).toBe('')
  await asServiceUser(wanted, 'rm "$1/pg_replslot"; mv "$1/was" "$1/pg_replslot"', data)
  await settle(provider, wanted)
})

test('a pipe in the place of pg_control keeps no pass and no other service waiting, and can be deleted', async () => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  const others = await Promise.all([1, 2, 3].map(() => newWanted(provider, { size: 'shared' })))
  await Promise.all(others.map((other) => settle(provider, other)))
  const all = [wanted, ...others]
  const plant = 'mv "$1/global/pg_control" "$1/was"; mkfifo "$1/global/pg_control"'
  for (const one of all) await asServiceUser(one, plant, dataOf(world, one, 0))
  const asked = all.map((one) => ({ ...one, generation: 2, snapshots: [{ snapshot_id: 'one', deleted: false }] }))
  await Promise.all(asked.map((one) => setbackOver(provider, one, 'pg_control of the service is a pipe')))
  const healthy = await newWanted(provider, { size: 'shared' })
  await settle(provider, healthy)
  for (const one of asked) await isDeleted(world, provider, one)
})

test.each(['pipe', 'link', 'folder'])(
  'a %s in the place of the pid file is a setback, and can be deleted',
  async (kind) => {
    const { world, provider, wanted } = await newService({ size: 'shared' })
    const victim = newVictim()
    // The control plane does not know its server any more, and kills it.
    onTestFinished(sharedMemoryOf(listPids(world.directory)).remove)
    const plant = { pipe: 'mkfifo "$1"', link: 'ln -s "$2" "$1"', folder: 'mkdir "$1"' }[kind]
    await asServiceUser(wanted, `rm "$1"; ${plant}`, join(dataOf(world, wanted, 0), 'postmaster.pid'), victim.file)
    await setbackOver(provider, { ...wanted, generation: 2 }, 'postmaster.pid')
    await isDeleted(world, provider, wanted)
    expect(victim.damage()).toBe('')
  },
)

test.each([
  ['before it is staged', true],
  ['after it was staged', false],
])('an archived file that grows to 8 TB %s stops the backup of its own service alone', async (_, is_new) => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  const other = await newWanted(provider, { size: 'shared' })
  await settle(provider, other)
  const staged = async () =>
    new Map((await provider.backup?.stageWal())?.map(({ service_id, behind }) => [service_id, behind ?? 'staged']))
  const archive = join(homeOf(world, wanted), 'archive')
  const name = '000000010000000000000001'
  await asServiceUser(wanted, 'touch "$1/$2"', archive, name)
  if (!is_new) expect((await staged()).get(wanted.service_id)).toBe('staged')
  await asServiceUser(wanted, 'truncate -s 8T "$1/$2"', archive, name)
  expect(await staged()).toEqual(
    new Map([
      [wanted.service_id, expect.stringContaining(`archive/${name} of the service is larger than a WAL file`)],
      [other.service_id, 'staged'],
    ]),
  )
  await provider.backup?.noteChecksums(new AbortController().signal)
})

test('an archived file that grows while a restore is tried out is not copied beyond what it can be', async () => {
  const world = await newWorld()
  let grow = async () => undefined as unknown
  const provider = await world.open({
    effect: async (name) => void (name === 'restore: copy snapshot' && (await grow())),
  })
  const wanted = await newWanted(provider, { size: 'shared', snapshots: [{ snapshot_id: 'one', deleted: false }] })
  await settle(provider, wanted)
  const archive = join(homeOf(world, wanted), 'archive')
  const archived = () => readdirSync(archive).find((name) => /^[0-9A-F]{24}$/.test(name))
  await until(() => archived() !== undefined, { what: 'a file is archived' })
  grow = () => asServiceUser(wanted, 'truncate -s 64M "$1"', join(archive, archived() ?? ''))
  const drill = provider.backup?.drill(wanted.service_id, { signal: new AbortController().signal })
  await expect(drill).rejects.toThrow('larger than it can be')
})

test('a socket that is a link leads no superuser session to another service', async () => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  const other = await newWanted(provider, { size: 'shared', password_verifier: verifierOf('other password') })
  await settle(provider, other)
  const socket = (of: WantedService) => join(world.directory, 'run', of.service_id, `.s.PGSQL.${of.home.port}`)
  await asServiceUser(wanted, 'mv "$1" "$1.was"; ln -s "$2" "$1"', socket(wanted), socket(other))
  const stolen = { ...wanted, generation: 2, password_verifier: verifierOf('stolen password') }
  await provider.service.apply(stolen).catch(() => undefined)
  await settle(provider, { ...other, generation: 2 })
  expect(await ask(provider, other, 'select 1', { password: 'other password' })).toBe('1')
  await expect(ask(provider, other, 'select 1', { password: 'stolen password' })).rejects.toThrow(
    /authentication failed/,
  )
})

test.each([
  ['a file that is a link to a file of the host', 'ln -s "$2" "$1/base/1/99999"', 'file'],
  ['a folder that is a link to a folder of the host', 'mv "$1/base/1" "$1/was"; ln -s "$2" "$1/base/1"', 'folder'],
  ['a WAL folder that is a link', 'mv "$1/pg_wal" "$1/was"; ln -s "$2" "$1/pg_wal"', 'folder'],
  ['a pipe among the files', 'mkfifo "$1/base/1/99999"', 'file'],
] as const)('a snapshot of a service with %s is refused by its name', async (_, plant, to) => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  await settle(provider, { ...wanted, power: 'off' })
  const victim = newVictim()
  const before = readdirSync(victim.folder)
  await asServiceUser(wanted, plant, dataOf(world, wanted, 0), victim[to])
  const snapshot = {
    ...wanted,
    power: 'off' as const,
    generation: 2,
    snapshots: [{ snapshot_id: 'one', deleted: false }],
  }
  await setbackOver(provider, snapshot, 'of the service is')
  expect(victim.damage()).toBe('')
  expect(readdirSync(victim.folder)).toEqual(before)
  expect(secretsBelow(join(homeOf(world, wanted), 'snapshots'))).toEqual([])
  await isDeleted(world, provider, snapshot)
})

test.skipIf(only_root)(`a fork of a running service copies nothing of the host behind a link${only_root}`, async () => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  const victim = newVictim()
  await asServiceUser(wanted, 'ln -s "$2" "$1/base/1/99999"', dataOf(world, wanted, 0), victim.file)
  const source: ServiceSource = { service_id: wanted.service_id, moment: 'now' }
  const fork = await newWanted(provider, { size: 'shared', source })
  await setbackOver(provider, fork, 'base/1/99999')
  expect(secretsBelow(homeOf(world, fork))).toEqual([])
  await asServiceUser(wanted, 'rm "$1/base/1/99999"', dataOf(world, wanted, 0))
  await settle(provider, fork)
})

test.skipIf(only_root)(`an archived file that is a link gives a fork nothing of the host${only_root}`, async () => {
  const { world, provider, wanted } = await newService({
    size: 'shared',
    snapshots: [{ snapshot_id: 'one', deleted: false }],
  })
  const victim = newVictim()
  const archive = join(homeOf(world, wanted), 'archive')
  await until(() => readdirSync(archive).some((name) => /^[0-9A-F]{24}$/.test(name)))
  await asServiceUser(wanted, 'ln -s "$2" "$1/00000009.history"', archive, victim.file)
  const source = { service_id: wanted.service_id, moment: { at: new Date().toISOString() } }
  const fork = await newWanted(provider, { size: 'shared', source })
  await setbackOver(provider, fork, '00000009.history')
  expect(secretsBelow(homeOf(world, fork))).toEqual([])
})

test.skipIf(only_root)(
  `a tree of links, pipes and closed folders is removed, and nothing of the host with it${only_root}`,
  async () => {
    const { world, provider, wanted } = await newService({ size: 'shared' })
    const victim = newVictim()
    const data = dataOf(world, wanted, 0)
    const many = 'i=0; while [ $i -lt 200 ]; do mkdir -p "$1/many/$i/a/b"; touch "$1/many/$i/a/b/c"; i=$((i+1)); done'
    await asServiceUser(
      wanted,
      `${many}; ln -s "$2" "$1/out"; mkfifo "$1/pipe"; chmod 0 "$1/many/7"`,
      data,
      victim.folder,
    )
    await isDeleted(world, provider, wanted)
    expect(victim.damage()).toBe('')
  },
)

test('a log file that is a link to another tenant’s log shows nothing of it', async () => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  const victim = newVictim()
  const log = join(homeOf(world, wanted), 'log')
  await asServiceUser(
    wanted,
    'ln -s "$2" "$1/postgresql-20991231-000000.json"; mkfifo "$1/postgresql-20991231-000001.json"',
    log,
    victim.file,
  )
  const query = { skip: 0, limit: 500, search: [], severities: [] }
  const page = await provider.logs.page(wanted.service_id, query)
  expect(JSON.stringify(page)).not.toContain('secret')
  expect('entries' in page && page.entries.length).toBeGreaterThan(0)
  await settle(provider, { ...wanted, generation: 2 })
})

test('a pipe in the place of the pooler’s pid file is a setback, and can be deleted', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const pooler = await newEndpoint(provider)
  const wanted = await newWanted(provider, { size: 'shared', pooler })
  await settle(provider, wanted)
  await asServiceUser(wanted, 'rm "$1"; mkfifo "$1"', join(homeOf(world, wanted), 'pooler', 'pid'))
  await setbackOver(provider, { ...wanted, generation: 2 }, 'pooler/pid')
  await isDeleted(world, provider, wanted)
})

/** Files of ours that hold what only the host's file held. */
function secretsBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name))
  return paths.filter(
    (path) => statSync(path).size < 1024 && readFileSync(path, 'utf8').includes('a secret of the host'),
  )
}
