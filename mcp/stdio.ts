// An agent on this machine: messages come on stdin and go on stdout, until stdin ends.
import { once } from 'node:events'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { type McpOptions, newMcpServer } from './server.ts'

export async function serveOverStdio(options: McpOptions): Promise<void> {
  const ended = once(process.stdin, 'close')
  const handle = serveStdio(() => newMcpServer(options))
  await ended
  await handle.close()
}
