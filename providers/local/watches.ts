// All that this process watches and remembers of its services and replica sets: made, forgotten and closed in one place. Losing any of
// it costs only the time until the next pass.
import type { Effect } from './host/effect.ts'
import type { HaHost } from './ha/ha-host.ts'
import { newWatch } from './host/watch.ts'
import { newLogWatch } from './log/log-watch.ts'
import type { LogRetention } from './log/retention.ts'
import type { LagReader } from './metric/lag-reader.ts'
import type { SpaceWatches } from './quota/access.ts'
import { newBalanceWatch } from './replica-set/balance-watch.ts'
import type { Remembered } from './service/service-host.ts'
import { newVpcWatch } from './vpc/watch.ts'
import { newArchiveWatch } from './wal/archive-watch.ts'

type Parts = Pick<SpaceWatches, 'disk_space_watch' | 'quota_watch'> & {
  effect: Effect
  log_retention: LogRetention
  lag_reader: LagReader
}

export function newWatches({ effect, log_retention, lag_reader, disk_space_watch, quota_watch }: Parts) {
  const by_key = {
    watch: newWatch(),
    archive_watch: newArchiveWatch(),
    balance_watch: newBalanceWatch(effect, lag_reader),
    disk_space_watch,
    quota_watch,
  }
  const remembered: Remembered & Pick<HaHost, 'deaths_told'> = {
    roles_observed: new Map(),
    deaths_told: new Map(),
    stalls_told: new Set(),
    pruned_up_to: new Map(),
  }
  const [vpc_watch, log_watch] = [newVpcWatch(), newLogWatch(effect, log_retention)]
  return {
    ...by_key,
    ...remembered,
    vpc_watch,
    log_watch,
    forget(key: string): void {
      for (const watch of Object.values(by_key)) watch.forget(key)
      for (const memory of Object.values(remembered)) memory.delete(key)
      vpc_watch.assign(key, undefined)
    },
    closeWatches(): void {
      for (const watch of [...Object.values(by_key), vpc_watch, log_watch]) watch.close()
    },
  }
}
