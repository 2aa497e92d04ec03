// Whether a port of this host is free, found by binding it. It promises nothing about the moment after.
import { createServer } from 'node:net'

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
