// An agent on this machine: messages come on stdin and go on stdout, one a line, until stdin ends and the calls that came are answered.
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { deserializeMessage, INVALID_REQUEST, PARSE_ERROR } from '@modelcontextprotocol/server'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { type McpOptions, newMcpServer } from './server.ts'

const line_chars_max = 10_000_000

export async function serveOverStdio(options: McpOptions): Promise<void> {
  const calls = new Set<Promise<unknown>>()
  const messages = Readable.from(untilAnswered(messagesOf(process.stdin), calls))
  const ended = once(messages, 'close')
  const handle = serveStdio(() => newMcpServer({ ...options, calls }), {
    transport: new StdioServerTransport(messages),
  })
  await ended
  await handle.close()
}

/** The library answers nothing any more once its messages have ended. */
async function* untilAnswered(messages: AsyncIterable<Buffer>, calls: ReadonlySet<Promise<unknown>>) {
  yield* messages
  // The last message becomes a call, and an answer a line, in a later turn.
  await turn()
  while (calls.size > 0) {
    await Promise.allSettled(calls)
    await turn()
  }
}

/** The library drops a line that is no message, and its sender would wait for an answer. */
async function* messagesOf(input: Readable): AsyncGenerator<Buffer> {
  for await (const line of linesOf(input)) {
    const error = errorOf(line)
    if (error === undefined) yield Buffer.from(`${line}\n`)
    else process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: null, error })}\n`)
  }
}

/** Without those that are blank. */
async function* linesOf(input: Readable): AsyncGenerator<string> {
  let rest = ''
  for await (const text of input.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > line_chars_max) throw new Error(`a line has more than ${line_chars_max} characters`)
    yield* lines.filter((line) => line.trim() !== '')
  }
}

function errorOf(line: string): { code: number; message: string } | undefined {
  try {
    deserializeMessage(line)
    return undefined
  } catch (error) {
    if (error instanceof SyntaxError)
      return { code: PARSE_ERROR, message: 'the line is not JSON; send one message per line' }
    return { code: INVALID_REQUEST, message: 'the line is not a JSON-RPC 2.0 message' }
  }
}
