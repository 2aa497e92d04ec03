// A real server and its databases under random kill -9 while requests come in, round after round. At the end everything
// that was acknowledged holds: services, power, deletions, committed rows; and nothing is orphaned.
// The choices follow a seed; HOWDAH_TEST_SEED repeats those of a failed run (its timing cannot be repeated).
import { randomInt, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { ask } from '#test/database.ts'
import type { ReadyService } from '#test/installation.ts'
import { countOf } from '#test/sample.ts'
import { newSeededDataDir } from '#test/seed.ts'
import { type ServerProcess, startServerProcess } from '#test/server-process.ts'
import { listPostmasters, orphansOf } from '#test/traces.ts'
import { until } from '#test/until.ts'

const seed = Number(process.env['HOWDAH_TEST_SEED'] ?? randomInt(2 ** 31))
const rounds = countOf(12, 5)
const slot_count = 6

/** What clients know of one service. Two powers: the answer to the last change was lost. */
type Slot = {
  key: string
  service?: ReadyService
  powers: ('on' | 'off')[]
  may_be_deleted: boolean
  must_be_deleted: boolean
  rows: number[]
}

const data_dir = await newSeededDataDir()
const service_ports = newServicePorts()
const chance = newChance(seed)
const slots: Slot[] = Array.from({ length: slot_count }, newSlot)
const retired: Slot[] = []
let server: ServerProcess
let token: string
let services: string

beforeAll(async () => {
  server = await startServerProcess({ data_dir, service_ports })
  token = server.first_token ?? ''
  services = `/projects/${server.project_id}/services`
})

afterAll(() => removeDataDir(data_dir))

test('whatever is killed whenever, all that was acknowledged holds', { timeout: 600_000 }, async () => {
  try {
    for (let round = 0; round < rounds; round += 1) await runRound()
    for (const slot of [...slots, ...retired]) await expectAcknowledged(slot)
    const living = slots.concat(retired).flatMap(({ service }) => (service === undefined ? [] : [service.service_id]))
    const there = await Promise.all(living.map(async (id) => ((await getStatus(id)) === 404 ? [] : [id])))
    // What a kill has left beside the template is removed by the first pass after it.
    await until(() => orphansOf(data_dir, there.flat()).length === 0).catch(() => undefined)
    expect(orphansOf(data_dir, there.flat())).toEqual([])
  } catch (error) {
    throw new Error(`failed with HOWDAH_TEST_SEED=${seed}`, { cause: error })
  }
})

/** One request for each service at once; after some of the answers, kills. */
async function runRound(): Promise<void> {
  const kill_after = chance(slot_count)
  const kill_server = chance(4) > 0
  const victims = slots.filter(() => chance(4) === 0)
  let answers = 0
  const kill = () => {
    if (kill_server) void server.end()
    for (const { service } of victims) if (service !== undefined) killPostmaster(service.service_id)
  }
  const operations = slots.map(async (slot) => {
    await operate(slot, chance(10))
    answers += 1
    if (answers === kill_after) kill()
  })
  if (kill_after === 0) kill()
  await Promise.all(operations)
  for (const [index, slot] of slots.entries()) {
    if (!slot.may_be_deleted) continue
    retired.push(slot)
    slots[index] = newSlot()
  }
  if (!kill_server) return
  await server.ended
  server = await startServerProcess({ data_dir, service_ports })
}

async function operate(slot: Slot, choice: number): Promise<void> {
  if (slot.service === undefined) {
    const answer = await send('POST', '', { name: 'random', cpu_millis: 'shared' }, { 'idempotency-key': slot.key })
    if (answer?.status === 202) slot.service = answer.body as ReadyService // the contract's own answer to a create
    return
  }
  if (choice < 5) return insertRow(slot)
  const { service_id } = slot.service
  if (choice === 9) {
    slot.may_be_deleted = true
    slot.must_be_deleted = (await send('DELETE', `/${service_id}`))?.status === 202
    return
  }
  const power = choice < 7 ? 'off' : 'on'
  const answer = await send('POST', `/${service_id}/${power === 'off' ? 'stop' : 'start'}`)
  if (answer === undefined) slot.powers.push(power)
  if (answer?.status === 202) slot.powers = [power]
}

/** Undefined when the server was killed before it had answered: it may have handled the request or not. */
async function send(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
  const answer = await server
    .callWith(token)(method, services + path, body, headers)
    .catch(() => undefined)
  if (answer !== undefined) expect([202, 400]).toContain(answer.status)
  return answer
}

async function insertRow(slot: Slot): Promise<void> {
  const row = chance(2 ** 30)
  try {
    await query(slot, 'create table if not exists kept (row bigint)')
    await query(slot, `insert into kept values (${row})`)
    slot.rows.push(row)
  } catch {
    // Not running right now, or killed meanwhile: without an acknowledgement there is no promise.
  }
}

async function expectAcknowledged(slot: Slot): Promise<void> {
  // A create whose answer was lost is asked for again; the key makes it the same one.
  if (slot.service === undefined) await operate(slot, 0)
  const { service } = slot
  if (service === undefined) throw new Error('a create was not answered by a living server')
  const { service_id } = service
  const ends: (string | number)[] = [
    ...(slot.may_be_deleted ? [404] : []),
    ...(slot.must_be_deleted ? [] : slot.powers.map((power) => (power === 'on' ? 'READY' : 'PAUSED'))),
  ]
  const end = await until(
    async () => {
      const status = await getStatus(service_id)
      return ends.includes(status) ? status : undefined
    },
    { what: `${service_id} is ${ends.join(' or ')}` },
  )
  if (end === 404) return
  if (end === 'PAUSED') expect((await send('POST', `/${service_id}/start`))?.status).toBe(202)
  await until(async () => (await getStatus(service_id)) === 'READY', { what: `${service_id} is READY` })
  if (slot.rows.length === 0) return
  const found = new Set(await query(slot, 'select row from kept'))
  expect(slot.rows.filter((row) => !found.has(String(row)))).toEqual([])
}

async function getStatus(service_id: string): Promise<string | number> {
  const { status, body } = await server.callWith(token)('GET', `${services}/${service_id}`)
  return status === 404 ? 404 : body.status
}

async function query({ service }: Slot, sql: string): Promise<string[]> {
  if (service === undefined) throw new Error('there is no service yet')
  return ask(server.api_url, service, service.initial_password, sql)
}

function killPostmaster(service_id: string): void {
  // By what runs on the data, not by the pid file: its number may belong to another process by now.
  for (const pid of listPostmasters(data_dir, service_id)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has just ended by itself.
    }
  }
}

function newSlot(): Slot {
  return { key: randomUUID(), powers: ['on'], may_be_deleted: false, must_be_deleted: false, rows: [] }
}

/** A small generator of numbers below a bound: the same seed gives the same row. */
function newChance(from: number): (below: number) => number {
  let state = from >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
