// Schemas that several resources share, and short ways to write one member with what it is and an example of it. A schema
// with an $id becomes a named component of the OpenAPI document.
import type { Static, TObject, TProperties, TStringOptions } from 'typebox'
import { roles } from './endpoint.ts'
import { fault_codes } from './fault.ts'
import { email_characters_max, email_pattern, plain_text_pattern } from './problem.ts'
import { Type } from './type.ts'

export const text = (description: string, example: string, more: TStringOptions = {}) =>
  Type.String({ description, examples: [example], ...more })

export const integer = (
  description: string,
  example: number,
  more: { minimum?: number; maximum?: number; default?: number; deprecated?: true } = {},
) => Type.Integer({ description, examples: [example], ...more })

export const flag = (description: string, example: boolean) => Type.Boolean({ description, examples: [example] })

export const choice = <const Value extends string>(values: readonly Value[], description: string, example: Value) =>
  Type.Unsafe<Value>({ enum: [...values], description, examples: [example] })

export const moment = (description: string, example = '2026-11-15T12:00:00Z') =>
  text(`${description} RFC 3339, with a zone.`, example, { format: 'date-time' })

/** A moment that callers send. */
export const momentInput = (description: string, example?: string) => ({
  ...moment(description, example),
  maxLength: 64,
})

/** A moment that callers send, or null where there is to be none. */
export const momentOrNull = (description: string, example: string) =>
  Type.Unsafe<string | null>({
    type: ['string', 'null'],
    format: 'date-time',
    maxLength: 64,
    description: `${description} RFC 3339, with a zone.`,
    examples: [example],
  })

/** A body or a query: members that it does not name are refused. */
export const input = <Properties extends TProperties>(properties: Properties, example: Static<TObject<Properties>>) =>
  Type.Object(properties, { additionalProperties: false, examples: [example] })

/** 1–128 characters after trimming, no control characters; the rule itself is stated in its own words in problem.ts. */
export const Name = text('1 to 128 characters after trimming, without control characters.', 'shop', {
  format: 'name',
  minLength: 1,
  maxLength: 256,
  pattern: plain_text_pattern,
})

export const GivenName = text('Its name: not unique, and changed by `rename`.', 'shop')

export const Email = text('An e-mail address; case does not matter.', 'ada@example.com', {
  minLength: 3,
  maxLength: email_characters_max,
  pattern: email_pattern,
})

export const RoleName = choice(roles, 'viewer < developer < admin < owner.', 'developer')

export const RegionCode = text('The region that it is in.', 'local')

export const environments = ['DEV', 'PROD'] as const
export const Environment = choice(
  environments,
  'What it is used for: a tag. A service that is PROD is protected from deletion by default.',
  'PROD',
)

export const Metadata = Type.Object({ environment: Environment }, { description: 'Tags.' })

export const Host = text('A host name or an IP address.', '127.0.0.1')
export const Port = integer('A TCP port.', 5432)

export const ServiceEndpoint = Type.Object(
  { host: Host, port: Port },
  { $id: 'Endpoint', description: 'Where clients connect, with TLS.' },
)

export const ConnectionPooler = Type.Object(
  {
    endpoint: ServiceEndpoint,
    max_client_connections: Type.Optional(
      integer('How many clients it takes at once, in both databases together; absent for a read replica set.', 3843),
    ),
    pool_size: Type.Optional(
      integer(
        'How many sessions of PostgreSQL each role has through it at most, in both databases together; absent for a read replica set.',
        183,
      ),
    ),
  },
  { $id: 'ConnectionPooler', description: 'Database `tsdb` pools by session, `tsdb_transaction` by transaction.' },
)

export const Message = Type.Object(
  { message: Type.Optional(text('What holds now, or is on its way.', 'the environment is PROD')) },
  { $id: 'Message', description: 'A sentence for people.' },
)

/** A number, or its digits as text: some clients send one, some the other. */
const numeric = (description: string, example: string | number, bounds: { minimum?: number; maximum?: number } = {}) =>
  Type.Unsafe<number | string>({
    type: ['integer', 'string'],
    maxLength: 32,
    description,
    examples: [example],
    ...bounds,
  })

const or_digits = 'as a number or as a numeric string'
export const CpuMillis = numeric(`Milli-cores ${or_digits}, or \`shared\` where a service is made.`, '1000')
export const MemoryGbs = numeric(`Gigabytes ${or_digits}, or \`shared\` where a service is made.`, '4')
export const SetCpuMillis = numeric(`Milli-cores of each node, ${or_digits}.`, 1000)
export const SetMemoryGbs = numeric(`Gigabytes of each node, ${or_digits}.`, 4)
export const Nodes = (nodes_max: number) =>
  numeric(`How many standbys, ${or_digits}.`, 2, { minimum: 1, maximum: nodes_max })

export const FaultSchema = Type.Object(
  {
    code: choice(fault_codes, 'What kind of error it is: one a program can act on.', 'NOT_FOUND'),
    message: text('What is wrong and what to do next.', 'no service with that id exists'),
    details: Type.Optional(
      text('Every invalid member, one a line: its JSON path and what it may be.', '/name: is required'),
    ),
  },
  { $id: 'Fault', description: 'Why a request was refused.' },
)
