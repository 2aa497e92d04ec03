// How often a password may be tried: buckets in the metadata store, so that all servers count together. Promises:
// 1. An attempt is counted before it is verified: many at once get no further than one after the other.
// 2. An account that does not exist is counted like an account that exists.
// 3. Strangers who guess lock no owner out where the owner has logged in before: from there an account has a bucket of its own, which
//    runs dry first. What one bucket refuses does not count in the next one: a single address does not empty the account's.
import { hash } from 'node:crypto'
import type { Db } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import { addressKey } from '../http/rate-limit.ts'
import { findRecord, saveRecord } from './records.ts'

export type Throttle = {
  /** 0 when the attempt may be made, else the seconds until the next one may. */
  take(email: string, address: string): Promise<number>
  /** After a success: the account's owner may make every mistake again, and is known at this address. */
  forgive(email: string, address: string): Promise<void>
}

type Limit = { burst: number; seconds_each: number }

const of_account_at_address: Limit = { burst: 5, seconds_each: 30 }
const of_address: Limit = { burst: 30, seconds_each: 4 }
const of_account: Limit = { burst: 30, seconds_each: 20 }

export function newThrottle(db: Db): Throttle {
  return {
    take: async (email, address) => {
      const keys = keysOf(email, address)
      return (
        (await take(db, keys.account_at_address, of_account_at_address)) ||
        (await take(db, keys.address, of_address)) ||
        ((await isKnown(db, keys.account_at_address)) ? 0 : await take(db, keys.account, of_account))
      )
    },
    forgive: async (email, address) => {
      const keys = keysOf(email, address)
      await db.query(sql`delete from login_attempts where key = any(${[keys.account_at_address, keys.account]})`)
      // An office behind one address logs in as often as it likes: only failures count there.
      await db.query(sql`update login_attempts set amount = greatest(amount - 1, 0) where key = ${keys.address}`)
      await saveKnown(db, keys.account_at_address)
    },
  }
}

const known_model = 'KnownAddress'
const known_days = 90

const isKnown = async (db: Db, key: Buffer): Promise<boolean> =>
  (await findRecord(db, known_model, 'id', key.toString('base64url'))) !== undefined

/** Of no user: it stays when their logins end, as with a new password. */
async function saveKnown(db: Db, key: Buffer): Promise<void> {
  const expires_at = new Date(Date.now() + known_days * 24 * 60 * 60 * 1000)
  await saveRecord(db, { model: known_model, id: key.toString('base64url'), payload: {}, expires_at })
}

function keysOf(email: string, address: string) {
  const account = email.trim().toLowerCase()
  const place = addressKey(address)
  // Hashed: people type passwords into the wrong field, and what is typed here is written down.
  const keyOf = (...parts: string[]) => hash('sha256', JSON.stringify(parts), 'buffer')
  return {
    account: keyOf('account', account),
    address: keyOf('address', place),
    account_at_address: keyOf('both', account, place),
  }
}

/** amount: how full of attempts the bucket is; it leaks one every seconds_each. */
async function take(db: Db, key: Buffer, { burst, seconds_each }: Limit): Promise<number> {
  const [row] = await db.query(sql<{ amount: number }>`
    insert into login_attempts as a (key, amount, at) values (${key}, 1, now())
    on conflict (key) do update set
      amount = least(greatest(a.amount - extract(epoch from now() - a.at) / ${seconds_each}, 0) + 1, ${burst} + 1),
      at = now()
    returning amount`)
  const over = (row?.amount ?? 0) - burst
  return over <= 0 ? 0 : Math.ceil(over * seconds_each)
}
