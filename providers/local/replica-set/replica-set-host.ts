// What a replica set is given of this host.
import type { HaHost } from '../ha/ha-host.ts'
import type { SpaceWatches } from '../quota/access.ts'
import type { VpcWatch } from '../vpc/watch.ts'
import type { BalanceWatch } from './balance-watch.ts'

export type ReplicaSetHost = HaHost &
  SpaceWatches & {
    balance_watch: BalanceWatch
    vpc_watch: VpcWatch
    /** Nothing of it is watched or remembered any more. The key is an id, which forgets all below it too, or `<id>/<what>`. */
    forget(key: string): void
  }
