// What a tenant did to its own server and only the tenant can undo. The message is for the events of the service: it
// names the object and says what to do. It is a setback of that service, never an unexpected error.
import { errorCode } from '../../host/read.ts'

export class TenantSetback extends Error {
  override readonly name = 'TenantSetback'
}

/** PostgreSQL's code for a server whose connections are all taken, also those that it reserves for superusers. */
const too_many_connections = '53300'

/** The setback that an error of a session stands for; undefined when the tenant did not cause it. */
export function tenantSetbackOf(error: unknown): TenantSetback | undefined {
  if (error instanceof TenantSetback) return error
  if (errorCode(error) !== too_many_connections) return undefined
  return new TenantSetback(
    'all connections of its server are taken, also those that are reserved for the control plane; close some of them',
  )
}
