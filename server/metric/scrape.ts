// GET /metrics, for Prometheus. With a token set, whoever has it may read; without one, only this machine. What a proxy
// passes on comes from elsewhere, whatever the connection says.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { hash, timingSafeEqual } from 'node:crypto'
import { Fault } from '#contract/fault.ts'

export function serveMetrics(app: FastifyInstance, token: string | undefined, text: () => Promise<string>): void {
  app.get('/metrics', async (request, reply) => {
    refuseStranger(request, token)
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await text())
  })
}

function refuseStranger(request: FastifyRequest, token: string | undefined): void {
  if (token === undefined) {
    const forwarded = proxy_headers.some((name) => name in request.headers)
    if (isLoopback(request.raw.socket.remoteAddress) && !forwarded) return
    throw new Fault('FORBIDDEN', 'metrics are for this machine only; set --metrics-token to read them from elsewhere')
  }
  const given = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (given !== undefined && timingSafeEqual(hashOf(given), hashOf(token))) return
  throw new Fault('UNAUTHORIZED', 'send the metrics token in the header Authorization: Bearer <token>')
}

/** One that adds none of them cannot be told from a caller here. */
const proxy_headers = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'via',
] as const

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(?:::ffff:)?127\.|^::1$/.test(address)
}

/** Of equal length, whatever was sent. */
function hashOf(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
