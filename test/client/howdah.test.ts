// The client for programs against a real server: objects, waiting, streams, databases that end with a scope, and repeated requests.
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { newHowdah, NoAnswerError } from '#contract/howdah.ts'
import { withDatabase } from '#contract/testing.ts'
import { startInRegion } from '#test/http/region.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'

const installation = shared(startInRegion)

const options = () => ({ server: installation.server.url, token: installation.token })
const howdah = () => newHowdah(options())
const names = async () => (await howdah().services.list()).map(({ name }) => name)

describe('objects', () => {
  test('what is made is ready, has the verbs of a service, and prints as the API answers', async () => {
    const shop = await howdah().services.create({ name: 'shop', cpu_millis: 'shared' })
    expect(shop).toMatchObject({ name: 'shop', status: 'READY', initial_password: expect.any(String) })
    // A first snapshot may be taken in between.
    await until(async () => {
      const printed = JSON.stringify(await shop.get())
      const { body } = await installation.call('GET', `${installation.services}/${shop.service_id}`)
      return isDeepStrictEqual(JSON.parse(printed), body)
    })
    expect(await shop.stop()).toMatchObject({ status: 'PAUSED' })
    const accepted = await shop.start({ wait: false })
    expect(accepted.status).toBe('RESUMING')
    expect(await accepted.settled()).toMatchObject({ status: 'READY' })
    expect(await shop.rename({ name: 'market' })).toMatchObject({ name: 'market' })
    await shop.delete()
    await expect(shop.get()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('collections lie below items; snapshots and replica sets are waited for', async () => {
    const shop = await howdah().services.create({ name: 'nested' })
    const snapshot = await shop.snapshots.create()
    expect(snapshot.status).toBe('complete')
    expect((await shop.snapshots.list()).map(({ id }) => id)).toContain(snapshot.id)
    await snapshot.delete()
    expect((await shop.snapshots.list()).map(({ id }) => id)).not.toContain(snapshot.id)
    const set = await shop.replicaSets.create({ name: 'readers', nodes: 1, cpu_millis: 500, memory_gbs: 2 })
    expect(set.status).toBe('active')
    await set.delete()
    expect(await howdah().services.at(shop.service_id).replicaSets.list()).toEqual([])
    const [first] = await howdah().vpcs.list()
    expect(first).toBeUndefined()
    const vpc = await howdah().vpcs.create({ name: 'home', cidr: '10.64.0.0/24' })
    await expect(vpc.rename({ name: 'office' })).resolves.toMatchObject({ name: 'office' })
    expect(await vpc.peerings.list()).toEqual([])
    await vpc.delete()
    expect((await howdah().project.lineage()).map(({ name }) => name)).toContain('nested')
    expect(await howdah().auth.info()).toMatchObject({ type: 'apiKey' })
  })

  test('a refusal is a Fault with the server’s words, and what ends unstable is one too', async () => {
    await expect(howdah().services.create({ name: '' })).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
    await expect(howdah().services.at('nosuchid00').settled()).rejects.toMatchObject({
      code: 'WRONG_STATE',
      message: 'nosuchid00 is removed; its events say why',
    })
  })

  test('a wait ends by its time and by its signal, and the work goes on', async () => {
    const slow = { name: 'slow', region_code: 'elsewhere' }
    await expect(howdah().services.create(slow, { timeout_ms: 0 })).rejects.toThrow()
    expect(await names()).toContain('slow')
    const end = new AbortController()
    const waiting = expect(
      howdah().services.create({ ...slow, name: 'aborted' }, { signal: end.signal }),
    ).rejects.toThrow()
    await until(async () => (await names()).includes('aborted'))
    end.abort()
    await waiting
    expect(await names()).toContain('aborted')
  })

  test('without a server or a project that is clear, it says what is missing', async () => {
    expect(() => newHowdah()).toThrow('HOWDAH_SERVER')
    const other = newHowdah({ ...options(), project: 'nosuchid00' })
    await expect(other.services.list()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })
})

test.each(['localhost:8080', '127.0.0.1:8080', 'ftp://127.0.0.1'])('%s is no server', (server) => {
  expect(() => newHowdah({ server, token: 'x' })).toThrow(
    `the server must be a URL such as http://127.0.0.1:8080, not "${server}"`,
  )
})

test('a list that streams is an async iterator, which goes on over an interruption without a gap or a repetition', async () => {
  let streams = 0
  /** The first stream breaks after its first piece. */
  const cutting: typeof globalThis.fetch = async (url, init) => {
    const response = await globalThis.fetch(url, init)
    if (new Headers(init?.headers).get('accept') !== 'text/event-stream') return response
    streams += 1
    if (streams > 1) return response
    const reader = response.body?.getReader()
    const first = await reader?.read()
    await reader?.cancel()
    const pieces = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(first?.value ?? new Uint8Array()),
      pull: (controller) => controller.error(new TypeError('terminated')),
    })
    return new Response(pieces, response)
  }
  const shop = await newHowdah({ ...options(), fetch: cutting }).services.create({ name: 'told' })
  const told: string[] = []
  for await (const { message } of shop.events({ follow: true })) {
    told.push(message)
    if (streams === 1) await shop.rename({ name: `told ${told.length}` })
    // What a snapshot tells may come before it.
    if (streams > 1 && message.includes('a rename to told')) break
  }
  expect(new Set(told).size).toBe(told.length)
})

describe('databases that end', () => {
  test('a temporary database is deleted when its scope ends, also by an error, and once only', async () => {
    const parent = await howdah().services.create({ name: 'parent' })
    const ids: string[] = []
    const use = async () => {
      await using fork = await howdah().services.temporary({ from: parent })
      await using empty = await howdah().services.temporary()
      ids.push(fork.service_id, empty.service_id)
      expect(fork).toMatchObject({ status: 'READY', forked_from: { service_id: parent.service_id } })
      expect(empty.forked_from).toBeUndefined()
      await empty.delete()
      throw new Error('the scope ends')
    }
    await expect(use()).rejects.toThrow('the scope ends')
    for (const id of ids) await installation.untilStatus(id, 'removed')
    expect(await names()).toContain('parent')
  })

  test('a file of tests has its own, by the hooks of its runner', async () => {
    const before: (() => Promise<void>)[] = []
    const after: (() => Promise<void>)[] = []
    const hooks = {
      before: (work: () => Promise<void>) => void before.push(work),
      after: (work: () => Promise<void>) => void after.push(work),
    }
    const db = withDatabase(hooks, options())
    expect(() => db.url).toThrow('once the tests run')
    for (const work of before) await work()
    const { service_id, endpoint } = db.service
    expect(db.url).toMatch(new RegExp(`^postgresql://tsdbadmin:[^@]+@${endpoint.host}:${endpoint.port}/tsdb`))
    expect(db.pg_config).toMatchObject({
      ...endpoint,
      database: 'tsdb',
      ssl: { ca: await howdah().ca.get() },
    })
    for (const work of after) await work()
    await installation.untilStatus(service_id, 'removed')
  })
})

describe('retries', () => {
  /** Answers get lost on their way for as many requests as asked. */
  const losing = (count: number) => {
    let lost = 0
    const fetch: typeof globalThis.fetch = async (url, init) => {
      const response = await globalThis.fetch(url, init)
      if (init?.method !== 'POST' || lost >= count) return response
      lost += 1
      throw new TypeError('fetch failed', {
        cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
      })
    }
    return fetch
  }
  const namesakes = async (name: string) => (await names()).filter((one) => one === name)

  test('off by default: a lost answer is an error, and what was made is there', async () => {
    const client = newHowdah({ ...options(), fetch: losing(1) })
    await expect(client.services.create({ name: 'lost' })).rejects.toThrow('fetch failed')
    expect(await namesakes('lost')).toHaveLength(1)
  })

  test('a repeated create makes one service and tells its password', async () => {
    const client = newHowdah({ ...options(), retries: true, fetch: losing(2) })
    expect(await client.services.create({ name: 'found' })).toMatchObject({ initial_password: expect.any(String) })
    expect(await namesakes('found')).toHaveLength(1)
  })

  test('what has no key is not repeated, and the error says that it may have arrived', async () => {
    const shop = await howdah().services.create({ name: 'once' })
    const client = newHowdah({ ...options(), retries: true, fetch: losing(1) })
    const stopped = client.services.at(shop.service_id).stop()
    await expect(stopped).rejects.toMatchObject({ name: NoAnswerError.name, may_have_arrived: true })
    expect(await installation.untilStatus(shop.service_id, 'PAUSED')).toBeDefined()
  })

  test('where no server runs it is given up soon, and nothing was sent', async () => {
    const client = newHowdah({ server: 'http://127.0.0.1:9', token: 'K.s', project: 'p', retries: true })
    await expect(client.services.create({ name: 'x' })).rejects.toMatchObject({
      may_have_arrived: false,
      message: 'http://127.0.0.1:9 does not answer; is the server running?',
    })
  })
})
