// Serves the built console: its files below /console, and its one page for every path that a browser opens and that is nothing
// else. Each file is read and compressed at its first use; a newer build is noticed by the age of its page.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { hash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { notFound } from '#contract/fault.ts'
import { page_headers, sendPage } from '../oauth/page.ts'
import { missingPage, waitingPage } from './plain-pages.ts'

type FilesParts = {
  /** Where the build is. */
  folder: string
  origin: () => string
  /** What to say while there is none. */
  absence: () => string
}

/** Undefined where the path is not the console's. */
export type ConsolePage = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> | undefined

const content_security_policy = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' data:`,
  `font-src 'self'`,
  `connect-src 'self'`,
  `base-uri 'none'`,
  `form-action 'self'`,
  `frame-ancestors 'none'`,
  `require-trusted-types-for 'script'`,
  `trusted-types 'none'`,
].join('; ')

const features_off = ['camera', 'geolocation', 'microphone', 'payment', 'usb', 'display-capture', 'fullscreen']
const headers = {
  'content-security-policy': content_security_policy,
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': [...features_off.map((name) => `${name}=()`), 'clipboard-write=(self)'].join(', '),
}
const hsts_seconds = 31_536_000

/** Paths that are not the console's, and answer a browser as they answer every other client. */
const other_paths = /^\/(public|oauth|docs|metrics|healthz|readyz|mcp|console|\.well-known)(\/|$)/
/** Of these, those that people read; the pages of logins tell what is not there by themselves. */
const read_paths = /^\/docs(\/|$)/
const page_name = 'index.html'
const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

type File = { type: string; etag: string; encodings: Readonly<Record<'br' | 'gzip' | 'identity', Buffer>> }

export type Files = {
  serve(app: FastifyInstance): void
  page: ConsolePage
}

export function newFiles(parts: FilesParts): Files {
  const find = newFinder(parts.folder)
  return {
    serve: (app) => {
      app.get('/console/*', async (request, reply) => {
        const name = request.url.split('?')[0]?.slice('/console/'.length) ?? ''
        const file = name === page_name ? undefined : await find(name)
        if (file === undefined) throw notFound('the console has no such file')
        const kept = name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
        return sendFile(request, reply.header('cache-control', kept), file, parts)
      })
    },
    page: (request, reply) => {
      const path = request.url.split('?')[0] ?? '/'
      const wants_page = request.method === 'GET' && request.headers.accept?.includes('text/html') === true
      if (!wants_page) return undefined
      if (read_paths.test(path)) return sendMissing(reply)
      return other_paths.test(path) ? undefined : sendConsole(request, reply, find, parts)
    },
  }
}

type Find = (name: string) => Promise<File | undefined>

async function sendMissing(reply: FastifyReply): Promise<FastifyReply> {
  return sendPage(reply.code(404).headers(page_headers), missingPage())
}

async function sendConsole(request: FastifyRequest, reply: FastifyReply, find: Find, parts: FilesParts) {
  const file = await find(page_name)
  if (file !== undefined) return sendFile(request, reply.header('cache-control', 'no-cache'), file, parts)
  return sendPage(reply.code(503).headers(page_headers), waitingPage(parts.absence()))
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: File, { origin }: FilesParts): FastifyReply {
  reply.code(200).headers(headers).header('etag', file.etag).header('vary', 'accept-encoding')
  if (origin().startsWith('https:')) reply.header('strict-transport-security', `max-age=${hsts_seconds}`)
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
  const accepted = request.headers['accept-encoding'] ?? ''
  const encoding = accepted.includes('br') ? 'br' : accepted.includes('gzip') ? 'gzip' : 'identity'
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.type(file.type).send(file.encodings[encoding])
}

/** Names come from the folder, never from a request. */
function newFinder(folder: string): Find {
  let known: { age: number; files: Map<string, Promise<File> | undefined> } | undefined
  return async (name) => {
    const age = await stat(join(folder, page_name)).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    )
    if (age === undefined) return undefined
    if (known?.age !== age) {
      const names = await readdir(folder, { recursive: true })
      known = { age, files: new Map(names.filter((name) => extname(name) in types).map((name) => [name, undefined])) }
    }
    if (!known.files.has(name)) return undefined
    const file = known.files.get(name) ?? readFiles(folder, name)
    known.files.set(name, file)
    return file
  }
}

async function readFiles(folder: string, name: string): Promise<File> {
  const identity = await readFile(join(folder, name))
  const [br, zipped] = await Promise.all([
    promisify(brotliCompress)(identity, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
    promisify(gzip)(identity, { level: 9 }),
  ])
  const etag = `"${hash('sha256', identity, 'base64url').slice(0, 27)}"`
  return { type: types[extname(name)] ?? '', etag, encodings: { br, gzip: zipped, identity } }
}
