// A list that may be cut at its limit: the body stays the list, and headers lead to what follows.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { next_cursor_header } from '#contract/endpoint.ts'
import type { Page } from './handler.ts'

/** answer: of an endpoint that `pages`, whose handler is typed to give one. */
export function listOf(request: FastifyRequest, reply: FastifyReply, answer: unknown): unknown {
  const { list, next_cursor } = answer as Page<unknown>
  if (next_cursor === undefined) return list
  const [path = '', query] = request.url.split('?')
  const next = new URLSearchParams(query)
  next.set('cursor', next_cursor)
  reply.header(next_cursor_header, next_cursor).header('link', `<${path}?${next}>; rel="next"`)
  return list
}
