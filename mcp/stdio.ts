// An agent on this machine: messages come on stdin and go on stdout, one a line, until stdin ends.
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { deserializeMessage, INVALID_REQUEST, PARSE_ERROR } from '@modelcontextprotocol/server'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { type McpOptions, newMcpServer } from './server.ts'

const line_chars_max = 10_000_000

export async function serveOverStdio(options: McpOptions): Promise<void> {
  const messages = Readable.from(messagesOf(process.stdin))
  const ended = once(messages, 'close')
  const handle = serveStdio(() => newMcpServer(options), { transport: new StdioServerTransport(messages) })
  await ended
  await handle.close()
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
