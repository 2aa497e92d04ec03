// The console as one part of the server: its login, its files, and the page for every path that a browser opens.
import type { FastifyInstance } from 'fastify'
import { build_folder, type ConsoleBuild } from './build.ts'
import { type ConsolePage, newFiles } from './files.ts'
import { serveSessions, type SessionParts } from './session.ts'

export type Console = {
  serve(app: FastifyInstance): void
  /** Answers a path that no route has. */
  page: ConsolePage
}

export function newConsole(parts: SessionParts & { build: ConsoleBuild }): Console {
  const files = newFiles({ folder: build_folder, origin: parts.origin, absence: () => parts.build.absence() })
  return {
    page: files.page,
    serve: (app) => {
      serveSessions(app, parts)
      files.serve(app)
    },
  }
}
