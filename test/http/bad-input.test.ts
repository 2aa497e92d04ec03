// Every field of every endpoint wrong in every way, derived from the contract: only documented refusals, never a failure
// of ours, every wrong field told at once, and nothing changed by any of it. The seed is fixed: a run can be repeated.
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import type { TSchema } from 'typebox'
import { beforeAll, describe, expect, test } from 'vitest'
import { fault_status } from '#contract/fault.ts'
import { faultsOf, objectOf, plainSchema } from '#contract/openapi.ts'
import { nameProblem } from '#contract/problem.ts'
import type { Service } from '#contract/service.ts'
import { body_bytes_max } from '#server/http/body.ts'
import { anyText } from '#test/any-text.ts'
import { shared } from '#test/shared.ts'
import { needs } from '../offered.ts'
import { examplesOf } from '../sample.ts'
import { withoutMeasures } from './measures.ts'
import { startInRegion } from './region.ts'
import { pathOf, type Row, rows, valid_bodies } from './requests.ts'

const seed = 20_261_115
const runs_per_property = 60
const parameters = { seed, endOnFailure: true, ...examplesOf(runs_per_property) }

const patience = { timeout: 60_000, interval: 50 }

const installation = shared(startInRegion)
let service_id: string
let before: unknown

beforeAll(async () => {
  const ready = await installation.createService({ name: 'bystander' })
  service_id = ready.service_id
  before = await listedServices()
})

const send = (row: Row, body: unknown, headers: Record<string, string> = {}) =>
  installation.call(row.endpoint.method, pathOf(row, { ...installation, service_id }), body, headers)

const listedServices = async () =>
  (await installation.call<Service[]>('GET', installation.services)).body.map(withoutMeasures)

/** Polled until it holds: on a very busy machine a service may seem unstable for a moment. */
async function expectNothingChanged() {
  await expect.poll(listedServices, patience).toEqual(before)
}

/** None of their fields is required, but some one is. */
const one_of_many = ['setHA']

// A token is refused by what is for users only before its body is read.
const with_body = rows.filter(({ endpoint }) => endpoint.body !== undefined && endpoint.access !== 'user')

describe.each(with_body)('$name', (row) => {
  const { name, endpoint } = row
  const { properties = {}, required = [] } = objectOf(endpoint.body)
  const fields = Object.entries(properties)
  const valid = valid_bodies[name] ?? {}

  test('refuses every field that is wrong, alone', async (context) => {
    if (name === 'createVpc') await needs(context, installation, 'vpcs')
    const wrong = fc
      .constantFrom(...fields)
      .chain(([field, schema]) => fc.record({ field: fc.constant(field), value: wrongFor(schema) }))
    await fc.assert(
      fc.asyncProperty(wrong, async ({ field, value }) => {
        const answer = await send(row, JSON.stringify({ ...valid, [field]: value }))
        expect([answer.status, answer.body.code]).toEqual([400, 'INVALID_REQUEST'])
        expect(pathsOf(answer.body.details)).toEqual([field])
      }),
      parameters,
    )
    await expectNothingChanged()
  })

  test('tells every wrong field at once', async () => {
    const all_wrong = fc
      .record(Object.fromEntries(fields.map(([field, schema]) => [field, wrongFor(schema)])))
      .map((body) => JSON.stringify(body))
    await fc.assert(
      fc.asyncProperty(all_wrong, async (body) => {
        // Several of the longest together are too long to be read at all.
        fc.pre(Buffer.byteLength(body) <= body_bytes_max)
        const answer = await send(row, body)
        expect(answer.status).toBe(400)
        expect(pathsOf(answer.body.details)).toEqual(fields.map(([field]) => field).toSorted())
      }),
      parameters,
    )
    await expectNothingChanged()
  })

  test('misses every required field', async () => {
    const answer = await send(row, {})
    if (one_of_many.includes(name)) return expect(answer.body.code).toBe('INVALID_REQUEST')
    // What can be asked with nothing may be so already.
    if (required.length === 0) return expect([row.endpoint.success, 409]).toContain(answer.status)
    expect(answer.status).toBe(400)
    expect(pathsOf(answer.body.details)).toEqual(required.toSorted())
  })

  test('takes no other JSON for an object, and no other text for JSON', async () => {
    const text = fc.oneof(
      fc
        .jsonValue()
        .filter((value) => typeof value !== 'object' || value === null || Array.isArray(value))
        .map((value) => JSON.stringify(value)),
      anyText({ minLength: 1 }).filter((text) => !isJson(text)),
      fc.constantFrom('{', '[', '{"name":}', "{'name':'x'}", 'NaN', '{"name":"x"}}', '\ufeff', '[['.repeat(20_000)),
    )
    await fc.assert(
      fc.asyncProperty(text, async (text) => {
        const answer = await send(row, text)
        expect([answer.status, answer.body.code]).toEqual([400, 'INVALID_REQUEST'])
      }),
      parameters,
    )
    await expectNothingChanged()
  })

  test('survives deep nesting, prototypes and floods of members beside its own', async () => {
    const bodies = [
      `{"name":1,"password":1,"environment":1,"cpu_millis":1,"x":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
      JSON.stringify(Object.fromEntries(Array.from({ length: 2500 }, (_, index) => [`member_${index}`, index]))),
      JSON.stringify({ addons: Array.from({ length: 20_000 }, () => 1) }),
    ]
    for (const body of bodies) {
      const answer = await send(row, body)
      expect([answer.status, answer.body.code]).toEqual([400, 'INVALID_REQUEST'])
      expect(JSON.stringify(answer.body).length).toBeLessThan(20_000)
    }
    const prototypes = await send(row, `{"__proto__":{"name":"x"},"constructor":{"prototype":{"name":"x"}}}`)
    expect([prototypes.status, prototypes.body.code]).toEqual([400, 'INVALID_REQUEST'])
    await expectNothingChanged()
  })
})

test('what fits the schema but names nothing that exists is refused with what does exist', async () => {
  const wrong: [Record<string, unknown>, RegExp][] = [
    [{ cpu_millis: '501' }, /500\/2, 1000\/4/],
    [{ cpu_millis: '500', memory_gbs: '4' }, /500\/2, 1000\/4/],
    [{ cpu_millis: 'shared', memory_gbs: '2' }, /shared\/shared/],
    [{ cpu_millis: '0x1F4' }, /1000\/4/],
    [{ cpu_millis: ' 500' }, /1000\/4/],
    [{ memory_gbs: '' }, /1000\/4/],
    [{ region_code: 'nowhere' }, /local/],
    [{ region_code: '__proto__' }, /local/],
    [{ cpu_millis: '32000', memory_gbs: '128', region_code: '' }, /region_code/],
    [{ sync_replica_count: 5 }, /replica/],
    [{ replica_count: 1, sync_replica_count: 2 }, /replica/],
  ]
  for (const [body, said] of wrong) {
    const answer = await installation.call('POST', installation.services, { name: 'x', ...body })
    expect([answer.status, answer.body.code], JSON.stringify(body)).toEqual([400, 'INVALID_REQUEST'])
    expect(answer.body.details).toMatch(said)
  }
  const resize = await installation.call('POST', `${installation.services}/${service_id}/resize`, {
    cpu_millis: 'shared',
    memory_gbs: 'shared',
  })
  expect(resize.body.code).toBe('INVALID_REQUEST')
  await expectNothingChanged()
})

test('a member that is not known is refused, however deep it is', async () => {
  const text = `{"name":"bystander","x":${'['.repeat(30_000)}${']'.repeat(30_000)}}`
  for (const path of [`${installation.services}/${service_id}/rename`, installation.services]) {
    const answer = await installation.call('POST', path, text)
    expect([answer.status, answer.body.code]).toEqual([400, 'INVALID_REQUEST'])
    expect(pathsOf(answer.body.details)).toEqual(['x'])
  }
  await expectNothingChanged()
})

test('an Idempotency-Key that is none is refused', async () => {
  for (const key of ['x'.repeat(256), 'two words', 'é', '\t']) {
    const headers = { 'idempotency-key': key }
    const answer = await installation.call('POST', installation.services, { name: 'x' }, headers).catch(() => undefined)
    if (key.trim() !== '') expect([answer?.status, answer?.body.code], key).toEqual([400, 'INVALID_REQUEST'])
  }
  await expectNothingChanged()
})

describe('ids, methods and queries', () => {
  test('no path, however strange, is answered by anything but a documented refusal', async () => {
    const piece = fc.oneof(
      anyText({ maxLength: 40 }).map(encode),
      fc.stringMatching(/^[%./\\;:'"<>{}|^~?# ]{1,12}$/).map(encode),
      fc.constantFrom('..', '%2e%2e', '%', '%0', '%zz', '%00', 'null', 'undefined', '-1', '1e9', '*', "' or 1=1--"),
    )
    const request = fc.record({ row: fc.constantFrom(...rows), piece, query: fc.string({ maxLength: 30 }).map(encode) })
    await fc.assert(
      fc.asyncProperty(request, async ({ row, piece, query }) => {
        const path = pathOf(row, { ...installation, service_id: `${piece}-` })
        if (!row.endpoint.path.includes('{service_id}')) return
        const answer = await installation.call(row.endpoint.method, `${path}?${query}=${query}`, valid_bodies[row.name])
        expect([404, 405]).toContain(answer.status)
      }),
      { ...parameters, ...examplesOf(4 * runs_per_property) },
    )
    await expectNothingChanged()
  })

  test('every method on every path is answered as the table says', async () => {
    for (const path of new Set(rows.map(({ endpoint }) => endpoint.path))) {
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const has_no_body = method === 'GET' || method === 'HEAD'
        const row = rows.find(({ endpoint: it }) => it.path === path && it.method === method.replace('HEAD', 'GET'))
        const at = path.replace('{project_id}', installation.project_id).replace('{service_id}', 'nosuchid00')
        const answer = await installation.call(method, at, has_no_body ? undefined : {})
        const refusals = row ? faultsOf(row.endpoint).map((code) => fault_status[code]) : [405]
        const documented = [row?.endpoint.success, ...refusals.filter((status) => status < 500)]
        expect(documented, `${method} ${path}`).toContain(answer.status)
      }
    }
    await expectNothingChanged()
  })
})

const validator = new Ajv2020({
  allowUnionTypes: true,
  formats: { name: (name: string) => nameProblem(name) === undefined, password: true, 'date-time': true },
})

/** Values of every kind that the field's schema refuses. */
function wrongFor(schema: TSchema): fc.Arbitrary<unknown> {
  const validate = validator.compile(plainSchema(schema))
  return anything.filter((value) => !validate(value))
}

const anything = fc
  .oneof(
    fc.constantFrom<unknown>(
      null,
      true,
      false,
      0,
      -1,
      1.5,
      6,
      2 ** 31,
      2 ** 53,
      -(2 ** 63),
      1e308,
      -0.0,
      '',
      ' ',
      '\t',
    ),
    fc.constantFrom<unknown>([], {}, [[]], [null], { name: 'x' }, ['time-series', 'time-series', 'x'], [{}], 'shared '),
    fc.constantFrom(
      'x'.repeat(257),
      'x'.repeat(60_000),
      '🐘'.repeat(300),
      ' '.repeat(1000),
      'short',
      '\u0000',
      'a\u0000b',
    ),
    fc.constantFrom('line\nbreak', '\u001b[31mred', '\u0085', '\u007f', 'DEV ', 'dev', 'prod', 'true', '-0'),
    fc.double(),
    fc.bigInt().map(Number),
    anyText({ maxLength: 400 }),
    fc.jsonValue({ maxDepth: 4 }),
    fc.array(fc.string(), { maxLength: 40 }),
  )
  .filter((value) => JSON.stringify(value) !== undefined && (typeof value !== 'number' || Number.isFinite(value)))

function pathsOf(details: string | undefined): string[] {
  const paths = (details ?? '').split('\n').map((line) => /^\/(\w*)/.exec(line)?.[1] ?? `? ${line}`)
  return [...new Set(paths.filter((path) => !/^\? and \d+ more$/.test(path)))].toSorted()
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Half a character cannot be written into a URL; it becomes the replacement character there. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
