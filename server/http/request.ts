// A request becomes what its handler gets: its members as the contract's schemas type them; or a fault that lists every
// invalid or unknown member, of the schemas and of the rules behind them.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import type { FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import type { EndpointName } from '#contract/api.ts'
import { type Endpoint, wait_seconds_max } from '#contract/endpoint.ts'
import { objectOf, plainSchema } from '#contract/openapi.ts'
import { invalidRequest, nameProblem, ofRequest, type Problem, problemsOf } from '#contract/problem.ts'
import { Type } from '#contract/type.ts'
import { paramsOf } from './admission.ts'
import type { Check } from './handler.ts'
import { lazily } from './lazily.ts'
import { queryProblems, textProblems } from './text.ts'

const idempotency_key_form = /^[\x21-\x7e]{1,255}$/
const wait_form = /(?:^|[,;])\s*wait\s*=\s*"?(\d+)"?\s*(?:$|[,;])/i

export function newParser(endpoint: Endpoint, check: Check<EndpointName> | undefined) {
  const body_check = endpoint.body ? newCheck(endpoint.body, body_validator) : checkOfNoMembers
  const query_check = endpoint.query ? newQueryCheck(endpoint.query) : checkOfNoMembers
  return (request: FastifyRequest) => {
    const idempotency_key = endpoint.idempotent ? request.headers['idempotency-key'] : undefined
    let problems: Problem[] = []
    if (idempotency_key !== undefined && !idempotency_key_form.test(String(idempotency_key))) {
      problems.push(ofRequest('the header Idempotency-Key must be 1 to 255 visible ASCII characters'))
    }
    const malformed = malformedText(endpoint, request)
    problems.push(...query_check(request.query, 'query'))
    const needs_body = endpoint.body !== undefined && !endpoint.body_optional
    if (needs_body && request.body === undefined) problems.push({ path: '/', message: 'a JSON body is required' })
    else problems.push(...body_check(request.body === undefined ? {} : request.body, ''))
    const paths = new Set(malformed.map(({ path }) => path))
    problems = [...malformed, ...problems.filter(({ path }) => !paths.has(path))]
    if (problems.length > 0) throw invalidRequest([...problems, ...moreProblems(endpoint, check, request, problems)])
    return {
      caller: request.caller,
      role: request.role,
      params: endpoint.accepts ? { ...paramsOf(request), accepts: endpoint.accepts } : request.params,
      query: endpoint.query && request.query,
      body: endpoint.body && (request.body ?? {}),
      idempotency_key,
      wait_seconds: endpoint.waits ? waitOf(request.headers.prefer) : 0,
    }
  }
}

/** What is no text is nothing else either: no schema has anything to add to it. */
function malformedText(endpoint: Endpoint, request: FastifyRequest): Problem[] {
  const in_query = Object.keys(objectOf(endpoint.query).properties ?? {})
  const in_body = endpoint.body === undefined ? {} : declaredOf(endpoint.body, request.body)
  return [...queryProblems(request.raw.url ?? '', in_query), ...textProblems(in_body)]
}

/** A preference is no demand: what is not understood is not there, and what is too much is as much as there is. */
function waitOf(prefer: string | string[] | undefined): number {
  const [, seconds = '0'] = wait_form.exec(String(prefer)) ?? []
  return Math.min(Number(seconds), wait_seconds_max)
}

const member_form = /(?:query)?\/\w+/g

/** The member that a problem is of, and those that its message names. */
function membersOf({ path, message }: Problem): string[] {
  const [of = path] = path.match(member_form) ?? []
  return [of, ...(message.match(member_form) ?? [])]
}

/** The rules' problems beside the schemas', which do not merely follow from those. */
function moreProblems(
  endpoint: Endpoint,
  check: Check<EndpointName> | undefined,
  request: FastifyRequest,
  known: readonly Problem[],
): Problem[] {
  if (check === undefined || known.some(({ path }) => path === '/')) return []
  const wrong = new Set(known.map((problem) => membersOf(problem)[0]))
  const right = (schema: TSchema | undefined, members: unknown, where: string) => {
    const declared = Object.entries(schema ? declaredOf(schema, members) : {})
    return Object.fromEntries(declared.filter(([name]) => !wrong.has(`${where}/${name}`)))
  }
  const checked: object = {
    params: request.params,
    caller: request.caller,
    body: right(endpoint.body, request.body, ''),
    query: right(endpoint.query, request.query, 'query'),
  }
  // As with the handlers: what the schemas have not refused has the row's types.
  const more: Problem[] = []
  check(checked as Parameters<typeof check>[0], more)
  return more.filter((problem) => !membersOf(problem).some((name) => wrong.has(name)))
}

/** The members that the schema names, of a request that may have others, too. */
function declaredOf(schema: TSchema, body: unknown): object {
  const names = Object.keys(objectOf(schema).properties ?? {})
  const members = Object.entries(body ?? {}).filter(([name]) => names.includes(name))
  return Object.fromEntries(members)
}

const formats = { 'date-time': fullFormats['date-time'], name: (name: string) => nameProblem(name) === undefined }
// Bodies are taken as they are. A query is text by nature, so numbers and lists are read out of it. Verbose errors name the
// members that a schema knows.
const strictly = { allErrors: true, verbose: true }
const body_validator = new Ajv2020({ ...strictly, allowUnionTypes: true, formats: { ...formats, password: true } })
const query_validator = new Ajv2020({ ...strictly, formats, coerceTypes: 'array' })

/** What is right becomes what the schema says: texts become numbers, lists and flags. */
export const newQueryCheck = (schema: TSchema) => newCheck(schema, query_validator)

function newCheck(schema: TSchema, validator: Ajv2020) {
  const compiled = lazily(() => validator.compile(plainSchema(schema)))
  return (value: unknown, where: string): Problem[] => {
    const validate = compiled()
    return validate(value) ? [] : problemsOf(validate.errors ?? [], where)
  }
}

/** Of an endpoint without a body or without a query. */
const checkOfNoMembers = newCheck(Type.Object({}, { additionalProperties: false }), body_validator)
