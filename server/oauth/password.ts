// Passwords: argon2id, as PHC strings. Promises:
// 1. A check costs the same whether there is a password to compare with or not.
// 2. At most two are computed at once and few wait: a flood of logins costs neither memory nor the other requests.
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { Fault } from '#contract/fault.ts'
import { newGate } from '../http/gate.ts'
import { isCommonPassword } from './common-password.ts'

/** OWASP's choice for argon2id. */
const memory_kib = 19_456
const passes = 2
const salt_bytes = 16
const tag_bytes = 32
const at_once_max = 2
const waiting_max = 50

const characters_min = 10
const characters_max = 256

export type Passwords = {
  newVerifier(password: string): Promise<string>
  /** verifier undefined: the user has no password, and the answer takes as long. */
  fits(password: string, verifier: string | undefined): Promise<boolean>
}

/** own_costs: of what is made from now on; what there is knows its own. */
export function newPasswords(own_costs: Costs = { memory_kib, passes }): Passwords {
  const enter = newGate({ at_once_max, waiting_max, refusal: busy })
  const compute = (password: string, salt: Buffer, costs: Costs): Promise<Buffer> =>
    enter(() =>
      promisify(argon2)('argon2id', {
        message: password.normalize('NFKC'),
        nonce: salt,
        parallelism: 1,
        tagLength: tag_bytes,
        memory: costs.memory_kib,
        passes: costs.passes,
      }),
    )
  return {
    newVerifier: async (password) => {
      const salt = randomBytes(salt_bytes)
      const tag = await compute(password, salt, own_costs)
      return `$argon2id$v=19$m=${own_costs.memory_kib},t=${own_costs.passes},p=1$${encode(salt)}$${encode(tag)}`
    },
    fits: async (password, verifier) => {
      const { costs, salt, tag } = (verifier && parseVerifier(verifier)) || { ...no_password, costs: own_costs }
      const computed = await compute(password, salt, costs)
      return timingSafeEqual(computed, tag) && verifier !== undefined
    },
  }
}

/** Why this cannot be the password of the user with this e-mail; undefined when it can. */
export function passwordProblem(password: string, email: string): string | undefined {
  const characters = password.length
  if (characters < characters_min) return `The new password needs at least ${characters_min} characters.`
  if (characters > characters_max) return `The new password can have at most ${characters_max} characters.`
  if (/\p{Cc}/u.test(password)) return 'The new password must not have control characters.'
  if (isCommonPassword(password, email)) {
    return 'The new password is among the first that strangers try. Choose a few words that do not belong together.'
  }
  return undefined
}

type Costs = { memory_kib: number; passes: number }
type Verifier = { costs: Costs; salt: Buffer; tag: Buffer }

const no_password = {
  salt: Buffer.alloc(salt_bytes),
  tag: Buffer.alloc(tag_bytes),
}

function parseVerifier(verifier: string): Verifier | undefined {
  const match = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=1\$([\w+/]+)\$([\w+/]+)$/.exec(verifier)
  if (match === null) return undefined
  const [, memory, times, salt = '', tag = ''] = match
  return {
    costs: { memory_kib: Number(memory), passes: Number(times) },
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}

const encode = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')

const busy = (): Fault =>
  new Fault('UNAVAILABLE', 'too many people are logging in right now; try again in a moment', {
    retry_after_seconds: 5,
  })
