// Tickets: a caller that one part of the server has verified calls the API through its front door, so that roles, rates and the audit log
// hold. A ticket is random, lives in this process alone and ends with the request that it was made for.
import type { Caller } from '../http/handler.ts'
import { newRandomText } from '../random-text.ts'
import type { Verifier } from './callers.ts'

export type Tickets = {
  /** The header that stands for the caller while the work runs. */
  withTicket<T>(caller: Caller, work: (authorization: string) => Promise<T>): Promise<T>
  verifier: Verifier
}

export function newTickets(): Tickets {
  const callers = new Map<string, Caller>()
  return {
    withTicket: async (caller, work) => {
      const authorization = `Bearer ticket_${newRandomText()}`
      callers.set(authorization, caller)
      try {
        return await work(authorization)
      } finally {
        callers.delete(authorization)
      }
    },
    verifier: async (authorization) => {
      const value = callers.get(authorization)
      return value && { value }
    },
  }
}
