// Whether a port of this host is free, found by binding it. It promises nothing about the moment after.
import { createServer } from 'node:net'
import type { Endpoint } from '../../provider.ts'

/** Why `what` cannot start there yet; undefined: the port is free, as every port of an address in a VPC. */
export async function portTrouble(
  { host, port }: Endpoint,
  vpc_id: string | undefined,
  what = 'it',
): Promise<string | undefined> {
  if (vpc_id !== undefined || (await portIsFree(host, port))) return undefined
  return `port ${port} on ${host} is in use by another program; ${what} starts when the port is free`
}

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
