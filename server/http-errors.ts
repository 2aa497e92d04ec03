// What a caller is told when something was thrown: every error becomes one Fault. Faults go out as they are; a store that
// is away is UNAVAILABLE; all else is our bug: a fixed sentence with the request id, and the stack goes to the log only.
import type { FastifyReply } from 'fastify'
import type { Socket } from 'node:net'
import { Fault, notFound, unknown_project } from '#contract/fault.ts'
import { isForeignKeyViolation, storeIsAway, unavailable } from './db.ts'
import type { Log } from './log.ts'

export function faultOf(error: unknown, request_id: string, log: Log): Fault {
  if (error instanceof Fault) return error
  const status = statusOf(error)
  if (status === 413) return tooLarge()
  if (status === 415) return unsupportedMediaType()
  if (status !== undefined && status < 500) {
    return new Fault('INVALID_REQUEST', 'the request could not be read as HTTP with a JSON body')
  }
  // The project, or the caller's membership of it, went away between the check and the write.
  if (isForeignKeyViolation(error) && error.constraint?.includes('_project_id_')) return notFound(unknown_project)
  if (storeIsAway(error)) {
    log.warn({ request_id, reason: error instanceof Error ? error.message : String(error) }, 'store is away')
    return unavailable()
  }
  log.error({ request_id, err: error }, 'request failed')
  return new Fault('INTERNAL', `the server failed to answer this request; report it with the request id ${request_id}`)
}

export function sendFault(reply: FastifyReply, fault: Fault): FastifyReply {
  if (fault.code === 'UNAUTHORIZED') reply.header('www-authenticate', 'Bearer')
  const retry_after_seconds = fault.retry_after_seconds ?? (fault.status === 503 ? 1 : undefined)
  if (retry_after_seconds !== undefined) reply.header('retry-after', String(retry_after_seconds))
  return reply.code(fault.status).type('application/json; charset=utf-8').send(JSON.stringify(fault.body))
}

/** Answers bytes that are not HTTP, or whose head is too long: there is no request yet, only a socket. */
export function answerMalformed(error: Error & { code?: string }, socket: Socket, request_id: string): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const too_long = error.code === 'HPE_HEADER_OVERFLOW'
  const message = too_long ? url_too_long : 'the bytes sent are not an HTTP request'
  const body = JSON.stringify(new Fault('INVALID_REQUEST', message).body)
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\nX-Request-Id: ${request_id}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

export const url_too_long = 'the URL or the header fields are too long: a URL may have 8 KiB'

export const tooLarge = (): Fault => new Fault('PAYLOAD_TOO_LARGE', 'the body is too large: the limit is 64 KiB')

export const unsupportedMediaType = (): Fault =>
  new Fault('UNSUPPORTED_MEDIA_TYPE', 'send the body as JSON in UTF-8 with the header Content-Type: application/json')

function statusOf(error: unknown): number | undefined {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  return typeof status === 'number' ? status : undefined
}
