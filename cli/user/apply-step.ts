// What `howdah apply` does, one request after the other.
import type { EndpointName } from '#contract/api.ts'

/** One request. */
export type Step = {
  /** For people. */
  line: string
  /** It interrupts connections, or deletes. */
  is_risky: boolean
  endpoint: EndpointName
  /** By name: an earlier step may have made it. */
  service?: string
  replica_set?: string
  body?: object
}
