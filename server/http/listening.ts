// Where the server listens, and how it stops: requests that are under way are answered, within the grace.
import type { FastifyInstance } from 'fastify'
import { errorCode } from '#providers/host/read.ts'
import { type Config, shutdown_grace_seconds } from '../config.ts'
import type { Log } from '../log.ts'
import { within } from '../within.ts'

const idle_poll_ms = 50

export async function listen(http: FastifyInstance, { host, port }: Pick<Config, 'host' | 'port'>): Promise<string> {
  try {
    return await http.listen({ host, port })
  } catch (error) {
    const code = errorCode(error)
    const reason =
      code === 'EADDRINUSE'
        ? `port ${port} of ${host} is in use; stop the program that has it, or choose another port with --port`
        : `cannot listen on ${host} port ${port} (${code}); choose others with --host and --port`
    throw new Error(reason, { cause: error })
  }
}

export async function closeHttp(http: FastifyInstance, log: Log): Promise<void> {
  const closed = http.close()
  // A connection whose last request was under way becomes idle later; without this it would stay open.
  const idle = setInterval(() => http.server.closeIdleConnections(), idle_poll_ms)
  await within(shutdown_grace_seconds, closed, log, 'some requests are aborted')
  clearInterval(idle)
  http.server.closeAllConnections()
  await closed
}
