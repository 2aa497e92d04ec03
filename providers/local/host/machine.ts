// What every part of the provider is given of this host.
import type { Effect } from './effect.ts'
import type { Jobs } from './jobs.ts'
import type { Limits } from './limits.ts'
import type { Watch } from './watch.ts'

export type Machine = {
  directory: string
  /** In the names of resources that all installations of a host share, such as network namespaces. */
  installation_id: string
  as_root: boolean
  effect: Effect
  limits: Limits
  jobs: Jobs
  watch: Watch
}
