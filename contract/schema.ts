// Schemas that several resources share. A schema with an $id becomes a named component of the OpenAPI document.
import { Type } from 'typebox'
import { roles } from './endpoint.ts'
import { email_characters_max, email_pattern } from './problem.ts'

/** 1–128 characters after trimming, no control characters; the rule itself is stated in its own words in problem.ts. */
export const Name = Type.String({
  format: 'name',
  minLength: 1,
  maxLength: 256,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
  description: '1 to 128 characters after trimming, without control characters.',
})

export const Timestamp = Type.String({ format: 'date-time', description: 'RFC 3339, with a zone.' })

export const Email = Type.String({
  minLength: 3,
  maxLength: email_characters_max,
  pattern: email_pattern,
  description: 'An e-mail address; case does not matter.',
})

export const RoleName = Type.Enum([...roles], { description: 'viewer < developer < admin < owner.' })

export const Id = Type.String({ pattern: '^[a-z0-9]{10}$', description: 'Ten characters of a–z and 0–9.' })

export const environments = ['DEV', 'PROD'] as const
export const Environment = Type.Enum([...environments])

export const ServiceEndpoint = Type.Object({ host: Type.String(), port: Type.Integer() }, { $id: 'Endpoint' })

export const ConnectionPooler = Type.Object(
  { endpoint: ServiceEndpoint },
  { $id: 'ConnectionPooler', description: 'Database `tsdb` pools by session, `tsdb_transaction` by transaction.' },
)

export const Message = Type.Object({ message: Type.Optional(Type.String()) }, { $id: 'Message' })

export const FaultSchema = Type.Object(
  {
    code: Type.String({ description: 'One of the fixed error codes.' }),
    message: Type.String({ description: 'What is wrong and what to do next.' }),
    details: Type.Optional(Type.String({ description: 'Every invalid field, each with its JSON path.' })),
  },
  { $id: 'Fault' },
)
