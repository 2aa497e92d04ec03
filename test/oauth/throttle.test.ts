// How often a password may be tried, from one address and from many, and that an account has one spelling.
import { shared } from '#test/shared.ts'
import { expect, test } from 'vitest'
import { isEmail } from '#contract/problem.ts'
import { changePassword, findAccount } from '#server/oauth/accounts.ts'
import { newPasswords } from '#server/oauth/password.ts'
import { newThrottle } from '#server/oauth/throttle.ts'
import { openTestDb } from '#test/store/test-store.ts'

const db = shared(openTestDb)

test('one address cannot try many accounts, and many addresses cannot try one', async () => {
  const throttle = newThrottle(db)
  const waits = async (attempt: (count: number) => [email: string, address: string]) => {
    const seconds: number[] = []
    for (let count = 0; count < 40; count += 1) seconds.push(await throttle.take(...attempt(count)))
    return seconds.filter((wait) => wait > 0).length
  }
  expect(await waits((count) => [`a${count}@example.com`, '192.0.2.1'])).toBeGreaterThan(0)
  expect(await waits((count) => ['b@example.com', `198.51.100.${count}`])).toBeGreaterThan(0)
  expect(await waits((count) => [`c${count}@example.com`, `2001:db8::${count}`])).toBeGreaterThan(0)
  expect(await waits((count) => [`d${count}@example.com`, `203.0.113.${count}`])).toBe(0)
  // What one address is refused does not count against the account elsewhere.
  expect(await waits(() => ['e@example.com', '192.0.2.2'])).toBeGreaterThan(0)
  expect(await throttle.take('e@example.com', '192.0.2.3')).toBe(0)
})

test('strangers at many addresses do not lock an owner out where that one has logged in before', async () => {
  const throttle = newThrottle(db)
  const [owner, home] = ['owner@example.com', '192.0.2.10']
  await throttle.forgive(owner, home)
  for (let count = 0; count < 40; count += 1) await throttle.take(owner, `198.51.100.${count}`)
  expect(await throttle.take(owner, '203.0.113.1')).toBeGreaterThan(0)
  expect(await throttle.take(owner, home)).toBe(0)
  // Nor is more to be guessed from there than from any address.
  const waits: number[] = []
  for (let count = 0; count < 10; count += 1) waits.push(await throttle.take(owner, home))
  expect(waits.at(-1)).toBeGreaterThan(0)
})

test('no other letter stands for one of an e-mail: its spellings would each be tried as often, and each be invited', async () => {
  const passwords = newPasswords({ memory_kib: 64, passes: 1 })
  const [user] = await db.query<{ id: number }>(
    `insert into users (email, name) values ('kim@example.com', '') returning id`,
  )
  await changePassword(db, user?.id ?? 0, await passwords.newVerifier('a good password'))
  const find = (email: string) => findAccount(db, passwords, { email, password: 'a good password' })
  expect(await find(' KIM@example.com')).toBe(user?.id)
  for (const twin of ['k\u0130m@example.com', '\u212aim@example.com']) {
    expect([isEmail(twin), await find(twin)]).toEqual([false, undefined])
  }
})
