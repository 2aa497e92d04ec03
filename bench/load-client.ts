// The load of the benches, in a process of its own: autocannon with many paths, each connection in an order of its own. Reads
// what to ask from the variable LOAD and prints autocannon's result.
import { createRequire } from 'node:module'
import type { LoadOrder } from './load.ts'

type Request = { method: 'GET'; path: string; headers: Record<string, string> }
type Client = { setRequests(requests: readonly Request[]): void }
type Options = {
  url: string
  connections: number
  duration: number
  requests: readonly Request[]
  setupClient: (client: Client) => void
}

// It has no types of its own; this is what its manual says.
const autocannon = createRequire(import.meta.url)('autocannon') as (options: Options) => Promise<object>

// Written by load() below this folder's load.ts only.
const { url, paths, token, connections, seconds } = JSON.parse(process.env['LOAD'] ?? '') as LoadOrder
const headers = { authorization: `Bearer ${token}` }
const requests = paths.map((path): Request => ({ method: 'GET', path, headers }))

const result = await autocannon({
  url,
  connections,
  duration: seconds,
  requests,
  setupClient: (client) => client.setRequests(shuffled(requests)),
})
process.stdout.write(JSON.stringify(result))

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}
