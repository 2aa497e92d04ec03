// Whether a client could log in right now, found out in the client's way: the advertised host and port, TLS verified
// against our authority, and a SCRAM exchange as the master role up to the point where the password would be needed.
// By then the server has sent the salt of the verifier it has, so a stale password is noticed too.
import { randomBytes } from 'node:crypto'
import { connect as connectPlain, isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { messageOf } from '../host/message.ts'
import type { Endpoint } from '../provider.ts'
import { master_database, master_role } from './names.ts'

export type ProbeSpec = {
  endpoint: Endpoint
  authority_pem: string
  password_verifier: string
  /** Aborted when the server cannot answer any more. */
  given_up?: AbortSignal
}

/** `other_password`: it serves, but not with the verifier that is wanted. */
export type Probe = { result: 'ok' } | { result: 'other_password' } | { result: 'failed'; reason: string }

const timeout_ms = 5_000
const ssl_request = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const protocol_version = 196_608
/** Far more than any answer before authentication; a server that sends more is not PostgreSQL. */
const answer_bytes_max = 16_384

/** `dial`: how the server is reached where it cannot be reached from this network. */
export async function probe(spec: ProbeSpec, dial: (endpoint: Endpoint) => Duplex = dialHere): Promise<Probe> {
  const sockets: Duplex[] = []
  const late = AbortSignal.timeout(timeout_ms)
  const expiry = spec.given_up ? AbortSignal.any([late, spec.given_up]) : late
  try {
    const tls = await reach(spec, dial, sockets, expiry)
    const first = await exchange(tls, expiry)
    return first === firstMessageOf(spec.password_verifier) ? { result: 'ok' } : { result: 'other_password' }
  } catch (error) {
    return { result: 'failed', reason: late.aborted ? `no answer within ${timeout_ms / 1000} s` : messageOf(error) }
  } finally {
    for (const socket of sockets.toReversed()) socket.destroy()
  }
}

/** Why it does not work, at this address; undefined: it does. */
export function loginTroubleOf(probed: Probe, at: string): string | undefined {
  if (probed.result === 'ok') return undefined
  const reason = probed.result === 'failed' ? probed.reason : 'the password in force is another one'
  return `a login at ${at} does not work yet: ${reason}`
}

/** noDelay: a packet that waited for the acknowledgement of the one before would wait for 40 ms. */
const dialHere = (endpoint: Endpoint) => connectPlain({ ...endpoint, noDelay: true })

async function reach(
  spec: ProbeSpec,
  dial: (endpoint: Endpoint) => Duplex,
  sockets: Duplex[],
  expiry: AbortSignal,
): Promise<Duplex> {
  const { host } = spec.endpoint
  const plain = dial(spec.endpoint)
  sockets.push(plain.on('error', ignored))
  plain.write(ssl_request)
  const [answer] = await bytesOf(plain, 1, expiry)
  if (answer !== 'S'.charCodeAt(0)) throw new Error('the server offers no TLS')
  const tls = connectTls({ socket: plain, host, ca: spec.authority_pem, ...(isIP(host) ? {} : { servername: host }) })
  sockets.push(tls.on('error', ignored))
  await happens(tls, 'secureConnect', expiry)
  return tls
}

/** Salt and iterations as the server sends them, in the form that `firstMessageOf` derives from a verifier. */
async function exchange(tls: Duplex, expiry: AbortSignal): Promise<string> {
  tls.write(startupMessage())
  const offer = await messageFrom(tls, expiry)
  if (offer.readInt32BE(0) !== 10 || !offer.includes('SCRAM-SHA-256\0')) throw new Error('the server offers no SCRAM')
  tls.write(saslInitialResponse())
  const first = await messageFrom(tls, expiry)
  const [, salt, iterations] = /,s=([^,]+),i=(\d+)$/.exec(first.subarray(4).toString()) ?? []
  // Without a Terminate message the server would log a broken connection in the tenant's log.
  tls.end()
  await happens(tls, 'finish', expiry).catch(() => undefined)
  return `${iterations}:${salt}`
}

/** A pending wait rejects with the error; an error at another time, such as at the end, changes nothing. */
const ignored = () => undefined

/** `SCRAM-SHA-256$<iterations>:<salt>$…` */
function firstMessageOf(verifier: string): string | undefined {
  return verifier.split('$')[1]
}

function startupMessage(): Buffer {
  const body = Buffer.from(`user\0${master_role}\0database\0${master_database}\0application_name\0howdah\0\0`)
  const head = Buffer.alloc(8)
  head.writeInt32BE(head.length + body.length, 0)
  head.writeInt32BE(protocol_version, 4)
  return Buffer.concat([head, body])
}

function saslInitialResponse(): Buffer {
  const first = Buffer.from(`n,,n=,r=${randomBytes(18).toString('base64')}`)
  const mechanism = Buffer.from('SCRAM-SHA-256\0')
  const head = Buffer.alloc(5)
  head.write('p')
  head.writeInt32BE(4 + mechanism.length + 4 + first.length, 1)
  const length = Buffer.alloc(4)
  length.writeInt32BE(first.length)
  return Buffer.concat([head, mechanism, length, first])
}

/** The body of the next authentication message; an error message of the server is thrown. */
async function messageFrom(socket: Duplex, expiry: AbortSignal): Promise<Buffer> {
  const head = await bytesOf(socket, 5, expiry)
  const length = head.readInt32BE(1) - 4
  if (length < 4 || length > answer_bytes_max) throw new Error('the answer is not PostgreSQL’s')
  const body = await bytesOf(socket, length, expiry)
  const type = String.fromCharCode(head[0] ?? 0)
  if (type === 'R') return body
  const said = body
    .toString()
    .split('\0')
    .find((field) => field.startsWith('M'))
  throw new Error(type === 'E' && said ? said.slice(1) : 'the answer is not PostgreSQL’s')
}

async function bytesOf(socket: Duplex, count: number, expiry: AbortSignal): Promise<Buffer> {
  for (;;) {
    const chunk: unknown = socket.read(count)
    if (chunk instanceof Buffer && chunk.length === count) return chunk
    if (socket.readableEnded || chunk !== null) throw new Error('the server closed the connection')
    await happens(socket, 'readable', expiry)
  }
}

async function happens(socket: Duplex, event: 'secureConnect' | 'readable' | 'finish', expiry: AbortSignal) {
  await new Promise<void>((resolve, reject) => {
    const settle = (end: () => void) => {
      socket.off(event, onEvent).off('error', onError).off('close', onClose)
      expiry.removeEventListener('abort', onClose)
      end()
    }
    const onEvent = () => settle(resolve)
    const onError = (error: Error) => settle(() => reject(error))
    const onClose = () => settle(() => reject(new Error('the server closed the connection')))
    socket.on(event, onEvent).on('error', onError).on('close', onClose)
    expiry.addEventListener('abort', onClose)
    // An abort that came before is not told again.
    if (expiry.aborted) onClose()
  })
}
