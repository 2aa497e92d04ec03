// The server of the auth bench, in a process of its own: the real HTTP side with one route in use, at two addresses. At one
// everybody is the same known caller, at no cost; at the other every request is verified, limited and admitted as always.
// One process for both, because two of the same code differ by a quarter. Prints both addresses and serves until killed.
import { openDb } from '#server/db.ts'
import type { Handlers } from '#server/handler.ts'
import { type Callers, newCallers } from '#server/identity/callers.ts'
import { newTokenVerifier } from '#server/identity/token.ts'
import { newHttp } from '#server/http.ts'
import { newLog } from '#server/log.ts'
import { newKeys } from '#server/oauth/keys.ts'
import { newJwtVerifier } from '#server/oauth/verifier.ts'
import { newRateLimits, type RateLimits } from '#server/rate-limit.ts'
import { serviceHandlers } from '#server/service/routes.ts'
import { bench_origin, openKeyPlace } from './access-token.ts'

const db = openDb(process.env['DATABASE_URL'] ?? '')
const log = newLog('info')

const caller = { type: 'oauth', user: { id: '1', email: 'bench@localhost', name: 'bench' } } as const
const keys = newKeys(await openKeyPlace(db, process.env['FOLDER'] ?? ''))
const verifiers = [newTokenVerifier(db), newJwtVerifier({ db, keys, origin: () => bench_origin })]
const everybody: Callers = { identify: async () => caller, roleIn: async () => 'owner', forget: () => undefined }
// More than any load, so that counting is paid for and nobody is refused.
const limit = 1_000_000

const newServer = (identity: { callers: Callers; rate_limits: RateLimits | undefined }) =>
  newHttp({
    // Only getService is asked for.
    handlers: serviceHandlers({
      db,
      log,
      providers: new Map(),
      snapshot_policy: { interval_seconds: 1, kept: 1 },
      settled: { wait: async () => undefined },
      sampler: { latest: () => undefined },
    }) as Handlers,
    ...identity,
    recordOutcome: async () => undefined,
    trusted_proxies: [],
    ready: async () => undefined,
    ca_pem: '',
    log,
    version: 'bench',
  }).listen({ host: '127.0.0.1', port: 0 })

const floor_url = await newServer({ callers: everybody, rate_limits: undefined })
const ours_url = await newServer({ callers: newCallers(db, verifiers), rate_limits: newRateLimits(limit) })
console.log(`${floor_url} ${ours_url}`)
