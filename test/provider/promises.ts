// What every provider promises, stated once: each test gets a fresh region of the provider under test, and enters by the interface alone.
import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type {
  Moment,
  ObservedService,
  Offered,
  Provider,
  WantedReplicaSet,
  WantedService,
} from '#providers/provider.ts'
import { until } from '#test/until.ts'
import { newEndpoint } from '#test/addresses.ts'
import { wantedAt, wantedSetAt } from './wanted.ts'

export type Region = {
  provider: Provider
  /** Ends what serves the service, as a fault would. */
  crash: (wanted: WantedService) => Promise<void>
  /** Takes all data of the service away, past the provider; absent: they cannot be lost there. */
  lose?: (wanted: WantedService) => Promise<void>
  /** Another provider over what the first one has made, as after a restart of the server; absent: there is none. */
  reopen?: () => Promise<Provider>
}

export function describePromises(name: string, newRegion: () => Promise<Region>): void {
  describe(`what ${name} promises`, () => {
    test('a service is made, found settled again without a change, and listed', async () => {
      const { provider } = await newRegion()
      const wanted = await newWanted(provider)
      const made = await settle(provider, wanted)
      expect(made).toMatchObject({ state: 'serving', postgres_version: provider.facts().postgres_versions[0] })
      expect(await provider.service.apply(wanted)).toMatchObject({ state: 'serving', settled: true, events: [] })
      expect(await provider.service.list()).toEqual([{ id: wanted.service_id, down: false }])
    })

    test('a deleted service is removed and not listed any more, and an unknown one settles as absent', async () => {
      const { provider } = await newRegion()
      const wanted = await newWanted(provider)
      await settle(provider, wanted)
      const removed = { ...wanted, generation: 2, deleted: true }
      expect((await settle(provider, removed)).state).toBe('absent')
      expect((await settle(provider, removed)).state).toBe('absent')
      expect(await provider.service.list()).toEqual([])
      expect((await settle(provider, { ...(await newWanted(provider)), deleted: true })).state).toBe('absent')
    })

    test('a service is stopped, and started again', async () => {
      const { provider } = await newRegion()
      const wanted = await newWanted(provider)
      await settle(provider, wanted)
      expect((await settle(provider, { ...wanted, generation: 2, power: 'off' })).state).toBe('stopped')
      expect((await settle(provider, { ...wanted, generation: 3 })).state).toBe('serving')
    })

    test('a pass that was aborted before it began changes nothing', async () => {
      const { provider } = await newRegion()
      const pass = { signal: AbortSignal.abort(new Error('the lease was lost')) }
      await expect(provider.service.apply(await newWanted(provider), pass)).rejects.toThrow('the lease was lost')
      expect((await provider.service.list()).filter(({ down }) => !down)).toEqual([])
    })

    test('a crash is told, listed as down, and healed by the next pass', async () => {
      const { provider, crash } = await newRegion()
      const wanted = await newWanted(provider)
      await settle(provider, wanted)
      const told: string[] = []
      provider.watch((kind, id) => void told.push(`${kind} ${id}`))
      await crash(wanted)
      await until(() => told.includes(`service ${wanted.service_id}`), { what: 'the crash is told' })
      const isDown = async () => (await provider.service.list()).some(({ down }) => down)
      await until(isDown, { what: 'it is listed as down' })
      expect((await settle(provider, wanted)).state).toBe('serving')
    })

    test('a crash is healed by the last wanted state too, and no unknown id is', async () => {
      const { provider, crash } = await newRegion()
      const wanted = await newWanted(provider)
      await settle(provider, wanted)
      await crash(wanted)
      await until(async () => (await provider.heal(wanted.service_id))?.state === 'serving', { what: 'it is healed' })
      expect(await provider.heal('unknown000')).toBeUndefined()
    })

    test('data that are lost are told as a loss, no empty database takes their place, and the service can be deleted', async () => {
      const { provider, lose } = await newRegion()
      if (!lose) return
      const wanted = await newWanted(provider)
      await settle(provider, wanted)
      await lose(wanted)
      const made = { ...wanted, made: true }
      const isLost = async () => (await provider.service.apply(made)).state === 'absent'
      await until(isLost, { what: 'the loss is told' })
      const lost = { state: 'absent', settled: false, waiting_for: expect.stringMatching(sentence) }
      const again = await provider.service.apply(made)
      expect(again).toMatchObject(lost)
      expect(again.in_progress ?? false).toBe(false)
      expect(await provider.service.apply({ ...made, generation: 2, power: 'off' })).toMatchObject(lost)
      expect((await settle(provider, { ...made, generation: 3, deleted: true })).state).toBe('absent')
      expect(await provider.service.list()).toEqual([])
    })

    test('a running service is forked as it is now', async () => {
      const { provider } = await newRegion()
      const parent = await newWanted(provider)
      await settle(provider, parent)
      await isForked(provider, parent, 'now')
      expect((await provider.service.list()).length).toBe(2)
    })

    test('snapshots are taken and removed, and a fork of one, of a time or of now is a service of its own', async () => {
      const { provider } = await newRegion()
      if (isRefused(provider.facts().snapshots)) return
      const parent = await newWanted(provider)
      await settle(provider, parent)
      await until(async () => (await provider.service.apply(parent)).restorable === 'none', { what: 'none is there' })
      const snapshot_id = newId()
      const kept = { ...parent, generation: 2, snapshots: [{ snapshot_id, deleted: false }] }
      await until(async () => stateOf(await provider.service.apply(kept)) === 'complete', { what: 'it is taken' })
      const { restorable, snapshots } = await provider.service.apply(kept)
      const [taken] = snapshots
      const from = taken?.state === 'complete' ? taken.taken_at : undefined
      expect(restorable).toMatchObject({ from })
      const moments: Moment[] = [{ snapshot_id }, { at: from?.toISOString() ?? '' }, 'now']
      for (const moment of moments) await isForked(provider, parent, moment)
      const given_up = { ...kept, generation: 3, snapshots: [{ snapshot_id, deleted: true }] }
      await until(async () => stateOf(await provider.service.apply(given_up)) === 'absent', { what: 'it is removed' })
      expect((await provider.service.apply(given_up)).restorable).toBe('none')
      expect((await provider.service.list()).length).toBe(4)
    })

    test('a stopped service is forked as it is now, and stays stopped', async () => {
      const { provider } = await newRegion()
      const refusal = provider.service.refusal({ copy_of: 'off' })
      if (refusal) return expect(refusal.message).toMatch(sentence)
      const parent = await newWanted(provider)
      await settle(provider, parent)
      // As the server takes one of every service: a region may copy from it what does not run.
      const kept: WantedService = { ...parent, generation: 2, snapshots: [{ snapshot_id: 'first', deleted: false }] }
      if (provider.facts().snapshots.offered) {
        await until(async () => (await provider.service.apply(kept)).snapshots[0]?.state === 'complete')
      }
      const stopped: WantedService = { ...kept, generation: 3, power: 'off' }
      await settle(provider, stopped)
      await isForked(provider, stopped, 'now')
      expect(await provider.service.apply(stopped)).toMatchObject({ state: 'stopped', settled: true })
    })

    test('a fork waits for a snapshot that is not there yet', async () => {
      const { provider } = await newRegion()
      if (isRefused(provider.facts().snapshots)) return
      const parent = await newWanted(provider)
      await settle(provider, parent)
      const snapshot_id = newId()
      const source = { service_id: parent.service_id, moment: { snapshot_id } }
      const fork = await newWanted(provider, { source })
      expect(await provider.service.apply(fork)).toMatchObject({ state: 'absent', settled: false })
      const kept: WantedService = { ...parent, generation: 2, snapshots: [{ snapshot_id, deleted: false }] }
      await until(async () => (await provider.service.apply(kept)).snapshots[0]?.state === 'complete')
      expect((await settle(provider, fork)).state).toBe('serving')
    })

    test('a replica set is made with its service, and goes before it', async () => {
      const { provider } = await newRegion()
      const service = await newWanted(provider)
      await settle(provider, service)
      const home = await newEndpoint(provider, new Set([service.home.port]))
      const set = wantedSetAt(home, service, { replica_set_id: newId(), size: service.size })
      const settled = async (wanted: WantedReplicaSet) => (await provider.replica_set.apply(wanted)).settled
      await until(() => settled(set), { what: 'the set settles' })
      expect((await provider.replica_set.list()).map(({ id }) => id)).toEqual([set.replica_set_id])
      expect((await provider.service.list()).map(({ id }) => id)).toEqual([service.service_id])
      await until(() => settled({ ...set, generation: 2, deleted: true }), { what: 'the set goes' })
      expect(await provider.replica_set.list()).toEqual([])
    })

    test('what is there is found again by another provider, as after a restart', async () => {
      const { provider, reopen } = await newRegion()
      const wanted = await newWanted(provider)
      await settle(provider, wanted)
      const next = (await reopen?.()) ?? provider
      expect(next.facts().identity).toBe(provider.facts().identity)
      expect(await next.service.list()).toEqual([{ id: wanted.service_id, down: false }])
      expect(await next.service.apply(wanted)).toMatchObject({ state: 'serving', settled: true })
    })

    test('a service that runs has metrics and a log, and another node than it has is refused', async () => {
      const { provider } = await newRegion()
      const wanted = await newWanted(provider)
      const begun_ms = Math.floor(Date.now() / 1000) * 1000
      await settle(provider, wanted)
      const { service_id } = wanted
      const measured = async () => (await provider.metrics([{ service_id }])).get(service_id)
      const memory = async () => (await measured())?.memory_usage_bytes
      expect(await until(memory, { what: 'its memory is measured' })).toBeGreaterThan(0)
      const since = await until(async () => (await measured())?.running_since_ms, { what: 'its start is known' })
      expect(since).toBeGreaterThanOrEqual(begun_ms)
      expect(since).toBeLessThanOrEqual(Date.now())
      if (isRefused(provider.facts().logs)) return
      const query = { skip: 0, limit: 5, search: [], severities: [] }
      const page = await provider.logs.page(service_id, query)
      expect('entries' in page && page.entries.length).toBeGreaterThan(0)
      expect(await provider.logs.page(service_id, { ...query, node: 9 })).toEqual({ refused: 'node' })
      const [newest] = 'entries' in page ? page.entries : []
      const { message = '', timestamp = '' } = newest ?? {}
      const in_capitals = await provider.logs.page(service_id, { ...query, search: [message.toUpperCase()] })
      expect('entries' in in_capitals && in_capitals.entries).toContainEqual(newest)
      const before = await provider.logs.page(service_id, { ...query, until_ms: Date.parse(timestamp) })
      expect('entries' in before && before.entries).not.toContainEqual(newest)
      const { search, severities } = query
      const tail = await provider.logs.tail(service_id, { search, severities })
      expect('entries' in tail && tail.entries.length).toBeGreaterThan(0)
      const [first, ...rest] = 'entries' in tail ? tail.entries : []
      const after = await provider.logs.tail(service_id, { search, severities, after: first?.at })
      expect('entries' in after && after.entries.slice(0, rest.length)).toEqual(rest)
      expect(await provider.logs.tail(service_id, { search, severities, node: 9 })).toEqual({ refused: 'node' })
      expect(await provider.logs.tail(service_id, { search, severities, after: 'x' })).toEqual({ refused: 'cursor' })
    })
  })
}

async function newWanted(provider: Provider, parts: Partial<WantedService> = {}): Promise<WantedService> {
  return wantedAt(await newEndpoint(provider), { service_id: newId(), ...parts })
}

/** What a region does not offer it says in a sentence, by which requests are refused; then there is nothing to promise. */
function isRefused(offered: Offered): boolean {
  if (!offered.offered) expect(offered.reason).toMatch(sentence)
  return !offered.offered
}

const sentence = /^[a-zA-Z ].{20,}$/

async function isForked(provider: Provider, { service_id }: WantedService, moment: Moment): Promise<void> {
  const fork = await newWanted(provider, { source: { service_id, moment } })
  expect((await settle(provider, fork)).state).toBe('serving')
}

const newId = () => `p${randomBytes(5).toString('hex').slice(0, 9)}`

const stateOf = ({ snapshots }: ObservedService) => snapshots[0]?.state

async function settle(provider: Provider, wanted: WantedService): Promise<ObservedService> {
  return await until(
    async () => {
      const observed = await provider.service.apply(wanted)
      return observed.settled && observed
    },
    { what: `service ${wanted.service_id} settles` },
  )
}
