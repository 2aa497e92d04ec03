// For whom the server answers: names that it was told, and addresses at which it was reached. A page of another site may
// point its own name at this machine (DNS rebinding) and is then of the same origin in its browser; what betrays it is
// the Host header. An address there cannot be such a name.
import type { IncomingMessage } from 'node:http'
import { isLoopback } from '../setting-value.ts'

const host_form = /^(?:\[([\da-f:.]+)\]|([^\s:/@#?[\]]+))(?::\d{0,5})?$/i

/** What is wrong with the request's Host; undefined while all is well. told: see hostsOf. */
export function hostProblem(raw: IncomingMessage, told: ReadonlySet<string>): string | undefined {
  if (countHosts(raw.rawHeaders) !== 1) return 'a request must have exactly one header Host'
  const [, address, host = address] = host_form.exec(raw.headers.host ?? '') ?? []
  const name = host?.toLowerCase()
  if (name !== undefined && (isLoopback(name) || told.has(name) || name === ownAddress(raw))) return undefined
  return 'the header Host names another server; use an address of this one, or tell it that name with --public-url'
}

/** What the settings tell. */
export function hostsOf({ host, public_url }: { host: string; public_url: string | undefined }): ReadonlySet<string> {
  const names = public_url === undefined ? [host] : [host, new URL(public_url).hostname]
  return new Set(names.map((name) => name.toLowerCase().replace(/^\[(.*)\]$/, '$1')))
}

/** Node keeps the first one only. */
function countHosts(raw_headers: readonly string[]): number {
  let count = 0
  for (let at = 0; at < raw_headers.length; at += 2) {
    const name = raw_headers[at] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1
  }
  return count
}

/** Where the caller reached this machine. */
function ownAddress({ socket }: IncomingMessage): string | undefined {
  return socket.localAddress?.replace(/^::ffff:/, '')
}
