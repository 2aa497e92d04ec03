// GET /metrics, for Prometheus. A reader needs the token wherever it is, also on this machine: other users share it.
import type { FastifyInstance } from 'fastify'
import { hash, timingSafeEqual } from 'node:crypto'
import { Fault } from '#contract/fault.ts'

export function serveMetrics(app: FastifyInstance, token: string, text: () => Promise<string>): void {
  app.get('/metrics', async (request, reply) => {
    const given = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    if (given === undefined || !timingSafeEqual(hashOf(given), hashOf(token))) throw noToken()
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await text())
  })
}

const noToken = (): Fault =>
  new Fault(
    'UNAUTHORIZED',
    'send the metrics token in the header Authorization: Bearer <token>; it is in the file metrics-token of the data directory',
  )

/** Of equal length for every text. */
function hashOf(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
