// Everything a caller can be told to act on: one class, one table from code to HTTP status.
// The message says what is wrong and what to do next; details lists every invalid field at once.

export const fault_status = {
  INVALID_REQUEST: 400,
  WRONG_STATE: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  QUOTA_EXCEEDED: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
} as const

export type FaultCode = keyof typeof fault_status

// Object.keys forgets the names that the table's type has.
export const fault_codes = Object.keys(fault_status) as FaultCode[]

export type FaultBody = { code: FaultCode; message: string; details?: string }

export class Fault extends Error {
  readonly code: FaultCode
  readonly details: string | undefined
  readonly retry_after_seconds: number | undefined
  /** Of the answer that carried the fault: known where a client received it. */
  readonly request_id: string | undefined

  constructor(
    code: FaultCode,
    message: string,
    more: { details?: string; retry_after_seconds?: number; request_id?: string } = {},
  ) {
    super(message)
    this.name = 'Fault'
    this.code = code
    this.details = more.details
    this.retry_after_seconds = more.retry_after_seconds
    this.request_id = more.request_id
  }

  get status(): number {
    return fault_status[this.code]
  }

  get body(): FaultBody {
    const body: FaultBody = { code: this.code, message: this.message }
    if (this.details !== undefined) body.details = this.details
    return body
  }
}

export const unknown_service = 'no service with that id exists'
export const unknown_deleted_service = 'no deleted service with that id exists'
export const unknown_replica_set = 'no replica set with that id exists'
export const unknown_project = 'no project with that id exists'
export const unknown_vpc = 'no VPC with that id exists'
export const unknown_snapshot = 'no snapshot with that id exists'
export const unknown_peering = 'no peering with that id exists'

export const unknown_member = 'no member of this project has that id'
export const unknown_token = 'no token of this project has that public key'
export const unknown_login = 'no login of yours has that id'

export function notFound(message: string): Fault {
  return new Fault('NOT_FOUND', message)
}

export function isNotFound(error: unknown): boolean {
  return error instanceof Fault && error.code === 'NOT_FOUND'
}
