// Programs of agents that say who they are by a document (OAuth Client ID Metadata Document), where the operator allows it: the id of such
// a program is the address of its document, and the server reads it. Any caller can name an address, so:
// 1. It is read by https, from addresses of the internet alone: which one is decided where the connection is made, so that no name leads
//    inside. No redirect is followed. 2. It takes 2.5 s, the library's own limit, and 64 KB at most, and a few are read at once.
// 3. What it says is held to the rules for programs that register themselves.
import { lookup } from 'node:dns'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import type { Configuration, errors as Errors } from 'oidc-provider'
import { programLack } from './registered.ts'

const document_bytes_max = 64 * 1024
const reads_at_once_max = 8

const inside = new BlockList()
const internet6 = new BlockList()
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  inside.addSubnet(net, bits, 'ipv4')
}
internet6.addSubnet('2000::', 3, 'ipv6')
// Some of these carry an address of the other kind.
for (const [net, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  inside.addSubnet(net, bits, 'ipv6')
}

export function isOfInternet(address: string): boolean {
  if (isIP(address) === 4) return !inside.check(address, 'ipv4')
  return isIP(address) === 6 && internet6.check(address, 'ipv6') && !inside.check(address, 'ipv6')
}

/** How the library reads documents. */
export const documentSettings = (errors: typeof Errors) =>
  ({
    fetch: newFetch(),
    fetchResponseBodyLimits: { 'client_id metadata document': document_bytes_max },
    feature: {
      enabled: true,
      ack: 'draft-02',
      allowClient: (_context, client) => {
        const lack = programLack(client.metadata())
        if (lack !== undefined) throw new errors.InvalidClientMetadata(lack)
        return true
      },
    },
  }) satisfies DocumentSettings

type Features = NonNullable<Configuration['features']>
type DocumentSettings = Pick<Configuration, 'fetch' | 'fetchResponseBodyLimits'> & {
  feature: Features['clientIdMetadataDocument']
}

function newFetch(): NonNullable<Configuration['fetch']> {
  let reads = 0
  return async (input, { signal } = {}) => {
    if (reads >= reads_at_once_max) throw new Error('too many documents are being read')
    reads += 1
    try {
      return await read(new URL(input instanceof Request ? input.url : input), signal ?? undefined)
    } finally {
      reads -= 1
    }
  }
}

async function read(url: URL, signal: AbortSignal | undefined): Promise<Response> {
  // A literal address is not looked up.
  const literal = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (url.protocol !== 'https:' || (isIP(literal) !== 0 && !isOfInternet(literal))) {
    throw new Error(`${url.host} is no address of the internet`)
  }
  const headers = { accept: 'application/json' }
  const request = get(url, { lookup: lookupOutside, agent: false, headers, ...(signal && { signal }) })
  const [answer] = (await once(request, 'response')) as [IncomingMessage] // as its documentation says
  // What ends the answer early is thrown where the answer is read.
  request.on('error', () => undefined)
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of answer as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (answer.statusCode !== 200 || bytes > document_bytes_max) throw new Error(`${url.host} answered no document`)
    pieces.push(piece)
  }
  const { statusCode: status = 0, headers: said } = answer
  const kept = Object.entries({ 'cache-control': said['cache-control'], expires: said.expires })
  const known = kept.filter((entry): entry is [string, string] => entry[1] !== undefined)
  return new Response(Buffer.concat(pieces), { status, headers: Object.fromEntries(known) })
}

/** One address inside among those of a name is enough to refuse it. */
const lookupOutside: LookupFunction = (hostname, options, done) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const refused = error ?? addresses.find(({ address }) => !isOfInternet(address))
    const [first] = addresses ?? []
    if (refused !== undefined && refused !== null) {
      done(refused instanceof Error ? refused : new Error(`${hostname} leads to ${refused.address}`), [])
    } else if (options.all === true) done(null, addresses)
    else done(null, first?.address ?? '', first?.family)
  })
}
