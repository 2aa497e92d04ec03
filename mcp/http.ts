// Agents over HTTP: each request is whole in itself, so any server of an installation can answer it.
import { createMcpHandler } from '@modelcontextprotocol/server'
import { type McpOptions, newMcpServer } from './server.ts'

export async function answerOverHttp(request: Request, options: McpOptions): Promise<Response> {
  const handler = createMcpHandler(() => newMcpServer(options), { legacy: 'stateless' })
  return await handler.fetch(request)
}
