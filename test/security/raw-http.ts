// HTTP as bytes, for requests that no client library sends: what came back, and when the server closed the connection.
import { connect, type Socket } from 'node:net'
import { until } from '#test/until.ts'

export type RawAnswer = { status: number; headers: Map<string, string>; body: string }

export type RawConnection = {
  socket: Socket
  received: () => string
  /** Waits until the server has closed the connection. */
  closed: () => Promise<void>
  /** The first answer, as soon as its head is there. */
  answer: () => Promise<RawAnswer>
}

export function connectRaw(url: string): RawConnection {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
  const received = () => Buffer.concat(pieces).toString('latin1')
  return {
    socket,
    received,
    closed: () => closed,
    answer: async () => parseAnswer(await until(() => received().includes('\r\n\r\n') && received())),
  }
}

/** Sends the bytes and closes the connection when there is an answer. */
export async function sendRaw(url: string, bytes: string): Promise<RawAnswer> {
  const connection = connectRaw(url)
  connection.socket.write(bytes, 'latin1')
  try {
    return await connection.answer()
  } finally {
    connection.socket.destroy()
  }
}

function parseAnswer(text: string): RawAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const headers = lines.map((line): [string, string] => {
    const at = line.indexOf(':')
    return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
  })
  return { status: Number(first.split(' ')[1]), headers: new Map(headers), body: rest.join('\r\n\r\n') }
}
