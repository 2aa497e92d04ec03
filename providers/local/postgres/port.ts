// Ports of this host: whether one is free, and a free one of a range. "Free" is found by binding it, never by a list.
// It promises nothing about the moment after: whoever gets a port records it and finds out by binding it for good.
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { NoEndpoint } from '../../provider.ts'

export async function portIsFree(host: string, port: number): Promise<boolean> {
  return await new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      // EACCES: a port below 1024, which is as good as taken for a process that may not have it.
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(false)
      else reject(error)
    })
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)))
  })
}

/** Starts at a random place of the range, so that several servers choosing at once rarely choose the same. */
export async function freePort(
  host: string,
  ports: { first: number; last: number },
  taken: ReadonlySet<number>,
): Promise<number> {
  const count = ports.last - ports.first + 1
  const start = randomInt(count)
  for (let step = 0; step < count; step++) {
    const port = ports.first + ((start + step) % count)
    if (!taken.has(port) && (await portIsFree(host, port))) return port
  }
  throw new NoEndpoint(
    `no port is free on ${host} from ${ports.first} to ${ports.last}: each belongs to a service or to another program; ` +
      'delete services, or start the server with a wider range (--service-ports)',
  )
}
