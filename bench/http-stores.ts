// The server of the http bench, in a process of its own: the real HTTP side at two addresses, one for each of two stores.
// Prints both addresses and serves until killed.
import { openDb } from '#server/store/db.ts'
import { newCallers } from '#server/identity/callers.ts'
import { newTokenVerifier } from '#server/identity/token.ts'
import { listen } from './http-side.ts'

const urls = (process.env['STORES'] ?? '').split(' ').map((url) => {
  const db = openDb(url)
  return listen({ db, callers: newCallers(db, [newTokenVerifier(db)]), rate_limits: undefined })
})
console.log((await Promise.all(urls)).join(' '))
