// What the tests of replica sets share: a service with a table, sets of it, and readers as customers are. Whatever a test
// leaves running is removed, also after a failure.
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished, test, type TestContext } from 'vitest'
import type { LocalOptions, LocalProvider } from '#providers/local/local.ts'
import { findProgram } from '#providers/host/program.ts'
import type { ObservedReplicaSet, WantedReplicaSet, WantedService } from '#providers/provider.ts'
import { ask, loginTo, newWanted, settle, type World } from '#test/provider/service-fixture.ts'
import { wantedSetAt } from '#test/provider/wanted.ts'
import { newEndpoint } from '#test/addresses.ts'
import { pidIn } from '#test/traces.ts'
import { until } from '#test/until.ts'

const why = (await findProgram('haproxy')) === undefined ? ' (skipped: HAProxy is not installed)' : ''

/** For sets of several nodes, which need HAProxy. */
export const balancedTest = (
  name: string,
  body: (context: TestContext) => Promise<void>,
  options: { timeout?: number } = {},
): void => test.skipIf(why)(`${name}${why}`, options, body)

export type Family = { world: World; provider: LocalProvider; service: WantedService }

export async function newFamily(world: World, options: Partial<LocalOptions> = {}): Promise<Family> {
  const provider = await world.open(options)
  onTestFinished(() => provider.close())
  const service = await newWanted(provider, { size: 'shared' })
  await settle(provider, service)
  await ask(provider, service, 'create table t as select 7 as n')
  return { world, provider, service }
}

/** It goes with the test, before the service and the directory go. */
export async function newSet(
  { world, provider, service }: Family,
  parts: Partial<WantedReplicaSet> = {},
): Promise<WantedReplicaSet> {
  const home = await newEndpoint(provider, new Set([service.home.port]))
  const set = wantedSetAt(home, service, parts)
  onTestFinished(async () => {
    const last = await world.open()
    await settleSet(last, { ...set, deleted: true })
    await last.close()
  })
  return set
}

/** Applies until everything holds, as the reconciler does. What happened on the way comes along. */
export async function settleSet(provider: LocalProvider, wanted: WantedReplicaSet): Promise<ObservedReplicaSet> {
  const events: ObservedReplicaSet['events'][number][] = []
  let last: ObservedReplicaSet | undefined
  return await until(
    async () => {
      last = await provider.replica_set.apply(wanted)
      events.push(...last.events)
      return last.settled && { ...last, events }
    },
    { what: `replica set ${wanted.replica_set_id} settles` },
  ).catch((error: unknown) => {
    throw new Error(`not settled: ${JSON.stringify(last)}`, { cause: error })
  })
}

/** One value of one query at the set's endpoint. */
export const readFrom = (provider: LocalProvider, set: WantedReplicaSet, sql: string): Promise<string> =>
  ask(provider, { ...set.service, reach: set.reach }, sql)

export const readerOf = (provider: LocalProvider, set: WantedReplicaSet) =>
  loginTo(provider, { ...set.service, reach: set.reach })

/** Waits until all that was written so far is read at the endpoint, whichever node answers. */
export async function untilRead(provider: LocalProvider, set: WantedReplicaSet, sql: string, value: string) {
  await until(async () => (await readFrom(provider, set, sql)) === value, { what: `${sql} is ${value} at the set` })
}

export const homeOf = (world: World, set: WantedReplicaSet, node = 0) =>
  join(world.directory, 'services', set.replica_set_id, ...(node === 0 ? [] : [`node-${node}`]))

export async function nodePid(world: World, set: WantedReplicaSet, node = 0): Promise<number> {
  return pidIn(await readFile(join(homeOf(world, set, node), 'data', 'postmaster.pid'), 'utf8'))
}

/** Everything below the directory that carries the set's name. */
export async function tracesOf(world: World, { replica_set_id }: WantedReplicaSet): Promise<string[]> {
  const names = await Promise.all(['services', 'run'].map((folder) => readdir(join(world.directory, folder))))
  const groups = await readdir('/sys/fs/cgroup', { recursive: true }).catch(() => [])
  const processes = await Promise.all(
    (await readdir('/proc'))
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  )
  return [...names.flat(), ...groups, ...processes].filter((name) => name.includes(replica_set_id))
}

export type Watcher = {
  /** From now on this is wanted; returned when it holds. */
  want(set: WantedReplicaSet): Promise<ObservedReplicaSet>
  /** Everything that people were told so far. */
  told: readonly string[]
}

/** Makes a pass over the set whenever its processes change by themselves, one at a time, as the server does. */
export function keepWatching({ provider }: Family, set: WantedReplicaSet): Watcher {
  let wanted = set
  let ended = false
  let last: Promise<unknown> = Promise.resolve()
  const told: string[] = []
  const pass = () => {
    const next = last.then(() => settleSet(provider, wanted))
    last = next.then(({ events }) => told.push(...events.map(({ message }) => message)))
    last = last.catch(() => undefined)
    return next
  }
  provider.watch((_, id) => void (id === set.replica_set_id && !ended && pass().catch(() => undefined)))
  onTestFinished(async () => {
    ended = true
    await last
  })
  return {
    told,
    want: (next) => {
      wanted = next
      return pass()
    },
  }
}
