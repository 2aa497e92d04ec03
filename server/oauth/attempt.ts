// An attempt to prove by a password that a caller is a user: at a login, and before a password is changed. Counted before it is verified.
import type { FastifyReply } from 'fastify'
import { findAccount } from './accounts.ts'
import type { Form } from './form.ts'
import type { OauthParts } from './oauth-parts.ts'

type Attempt = { user_id: number } | { refused: 'too many attempts' | 'wrong e-mail or password'; message: string }

export const emailIn = (form: Form): string => (form.get('email') ?? '').slice(0, 254)

/** Where it is refused, the reply has the status, and the page is to show the message. */
export async function attemptPassword(
  { db, passwords, throttle }: OauthParts,
  reply: FastifyReply,
  form: Form,
  address: string,
): Promise<Attempt> {
  const email = emailIn(form)
  const wait_seconds = await throttle.take(email, address)
  if (wait_seconds > 0) {
    reply.code(429).header('retry-after', String(wait_seconds))
    return { refused: 'too many attempts', message: `Too many attempts. Try again in ${wait_seconds} seconds.` }
  }
  const user_id = await findAccount(db, passwords, { email, password: form.get('password') ?? '' })
  if (user_id === undefined) {
    reply.code(403)
    return { refused: 'wrong e-mail or password', message: 'The e-mail or the password is wrong.' }
  }
  await throttle.forgive(email, address)
  return { user_id }
}
