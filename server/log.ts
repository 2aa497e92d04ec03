// The server's log: one JSON object a line, on standard error, so that standard output stays for people.
// Nothing secret gets out: fields with secret names are censored at the top and one level down, and of an error only
// its kind, message, code and stack are written, because a PostgreSQL error carries rows and statements besides.
import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

const secret_fields = [
  'authorization',
  'cookie',
  'database_url',
  'initial_password',
  'metrics_token',
  'password',
  'password_verifier',
  'secret',
  'secret_hash',
  'secret_key',
  'token',
  'first_token',
  'verifier',
]

const causes_max = 4

/** Writes synchronously: a killed server has said all that it knew. */
export function newLog(level: string, destination: DestinationStream = pino.destination({ fd: 2, sync: true })): Log {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: secret_fields.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: '[secret]' },
      serializers: { err: errorFacts, error: errorFacts },
    },
    destination,
  )
}

function errorFacts(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error
  return {
    type: error.name,
    message: error.message,
    ...('code' in error && { code: error.code }),
    stack: error.stack,
    // A cause that is no error is a thing that was refused, such as an answer with tokens in it.
    ...(error.cause instanceof Error && depth < causes_max && { cause: errorFacts(error.cause, depth + 1) }),
  }
}
