// Why an endpoint refuses a caller now, told before the request is sent: by the role of the caller and the status of the service. Pure.
// The server says the same words. What only the server knows is not foretold.
import { type Endpoint, isRole, type Role, roleAllows } from './endpoint.ts'
import type { Acceptable, ServiceStatus } from './service-status.ts'

type Known = {
  role?: Role | undefined
  status?: ServiceStatus | undefined
  /** CONFIGURING for longer than it should be; left out where the caller cannot tell. */
  is_stuck?: boolean | undefined
}

export function refusalOf({ access, accepts }: Pick<Endpoint, 'access' | 'accepts'>, known: Known): string | undefined {
  const { role, status, is_stuck } = known
  const by_role = role !== undefined && isRole(access) ? roleRefusal(role, access) : undefined
  if (by_role !== undefined || status === undefined || accepts === undefined) return by_role
  return statusRefusal(accepts, status, is_stuck ?? status === 'CONFIGURING')
}

export function roleRefusal(role: Role, needed: Role): string | undefined {
  return roleAllows(role, needed) ? undefined : `your role in this project is ${role}; this needs at least ${needed}`
}

export function statusRefusal(
  accepts: readonly Acceptable[],
  status: ServiceStatus,
  is_stuck: boolean,
): string | undefined {
  if (accepts.includes(status) || (is_stuck && accepts.includes('stuck'))) return undefined
  const words = accepts.map((one) => (one === 'stuck' ? 'CONFIGURING with a setback' : one))
  return `the service is ${status}; this is possible when it is ${words.join(', ')}`
}
