// A login with an empty password, down to the bytes: drivers refuse to try one, but an attacker uses no driver.
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectPlain } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { Endpoint } from '#providers/provider.ts'

/** How the server's answers went: the types of its messages, such as `RRE` when it refused the first SCRAM message. */
export async function loginWithoutPassword(
  endpoint: Endpoint,
  ca: string,
  { user, database }: { user: string; database: string },
): Promise<string> {
  const plain = connectPlain(endpoint)
  plain.write(Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]))
  await once(plain, 'data')
  const socket = connectTls({ socket: plain, host: endpoint.host, ca })
  await once(socket, 'secureConnect')
  const startup = `user\0${user}\0database\0${database}\0\0`
  socket.write(Buffer.concat([int(8 + startup.length), int(196_608), Buffer.from(startup)]))
  const bare = 'n=,r=nonce'
  try {
    const offered = await answerOf(socket)
    if (offered[0] !== 'R') return offered[0]
    socket.write(message('SCRAM-SHA-256\0', int(3 + bare.length), `n,,${bare}`))
    const first = await answerOf(socket)
    if (first[0] !== 'R') return `R${first[0]}`
    socket.write(message(finalMessage(bare, first[1].subarray(4).toString())))
    return `RR${(await answerOf(socket))[0]}`
  } finally {
    socket.destroy()
  }
}

function finalMessage(bare: string, server_first: string): string {
  const [, nonce, salt = '', iterations] = /^r=(.*),s=(.*),i=(\d+)$/.exec(server_first) ?? []
  const without_proof = `c=biws,r=${nonce}`
  const salted = pbkdf2Sync('', Buffer.from(salt, 'base64'), Number(iterations), 32, 'sha256')
  const client_key = createHmac('sha256', salted).update('Client Key').digest()
  const stored_key = createHash('sha256').update(client_key).digest()
  const signature = createHmac('sha256', stored_key).update(`${bare},${server_first},${without_proof}`).digest()
  const proof = Buffer.from(client_key.map((byte, at) => byte ^ (signature[at] ?? 0))).toString('base64')
  return `${without_proof},p=${proof}`
}

async function answerOf(socket: TLSSocket): Promise<[type: string, body: Buffer]> {
  const [chunk] = (await once(socket, 'data')) as [Buffer] // sockets without an encoding give buffers
  return [String.fromCharCode(chunk[0] ?? 0), chunk.subarray(5, 1 + chunk.readInt32BE(1))]
}

function message(...parts: readonly (string | Buffer)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)))
  return Buffer.concat([Buffer.from('p'), int(4 + body.length), body])
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
