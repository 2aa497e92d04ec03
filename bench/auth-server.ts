// The server of the auth bench, in a process of its own: the real HTTP side with one route in use, at two addresses. At one
// every request has the same known caller, at no cost; at the other every request is verified, limited and admitted as always.
// Prints both addresses and serves until killed.
import { openDb } from '#server/store/db.ts'
import type { Callers } from '#server/http/handler.ts'
import { newCallers } from '#server/identity/callers.ts'
import { newTokenVerifier } from '#server/identity/token.ts'
import { newKeys } from '#server/oauth/keys.ts'
import { newJwtVerifier } from '#server/oauth/verifier.ts'
import { newRateLimits } from '#server/http/rate-limit.ts'
import { bench_origin, openKeyPlace } from './access-token.ts'
import { listen } from './http-side.ts'

const db = openDb(process.env['DATABASE_URL'] ?? '')

const caller = { type: 'oauth', user: { id: '1', email: 'bench@example.com', name: 'bench' } } as const
const keys = newKeys(await openKeyPlace(db, process.env['FOLDER'] ?? ''))
const verifiers = [newTokenVerifier(db), newJwtVerifier({ db, keys, origin: () => bench_origin })]
const same_caller: Callers = { identify: async () => caller, roleIn: async () => 'owner', forget: () => undefined }
// More than any load, so that counting is paid for and no request is refused.
const limit = 1_000_000

const floor_url = await listen({ db, callers: same_caller, rate_limits: undefined })
const ours_url = await listen({ db, callers: newCallers(db, verifiers), rate_limits: newRateLimits(limit) })
console.log(`${floor_url} ${ours_url}`)
