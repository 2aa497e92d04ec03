// The HTTP side of the server for benches that compare two of them within one process, because two processes of the same
// code differ by a quarter. Only getService is asked for; no pass is made.
import { randomBytes } from 'node:crypto'
import type { Db } from '#server/store/db.ts'
import type { Handlers, Tails } from '#server/http/handler.ts'
import { newHttp } from '#server/http/http.ts'
import type { Callers } from '#server/http/handler.ts'
import { newLog } from '#server/log.ts'
import type { RateLimits } from '#server/http/rate-limit.ts'
import { newSecret } from '#server/secret.ts'
import { serviceHandlers } from '#server/service/routes.ts'

type Side = { db: Db; callers: Callers; rate_limits: RateLimits | undefined }

const log = newLog('info')

/** Its address. */
export async function listen({ db, ...identity }: Side): Promise<string> {
  return await newHttp({
    // The others would need more of the server than there is here.
    handlers: serviceHandlers({
      db,
      log,
      providers: new Map(),
      snapshot_policy: { interval_seconds: 1, kept: 1 },
      undelete_seconds: 0,
      settled: {
        wait: async () => undefined,
        see: async (_, look) => await look(),
        watch: () => () => undefined,
        closing: new AbortController().signal,
        close: () => undefined,
      },
      secret: newSecret(randomBytes(32)),
      sampler: { latest: () => undefined },
      backedUp: () => undefined,
      healing: { passBegins: () => undefined, eventsOf: () => [], told: () => undefined },
    }) as Handlers,
    // No stream is asked for either.
    tails: {} as Tails,
    ...identity,
    recordOutcome: async () => undefined,
    hosts: new Set(),
    trusted_proxies: [],
    ready: async () => undefined,
    caPem: () => '',
    log,
    version: 'bench',
  }).listen({ host: '127.0.0.1', port: 0 })
}
