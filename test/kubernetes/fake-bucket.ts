// A small object store for tests of the Kubernetes provider: list, get and the removal of several objects, for one key.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

export type FakeBucket = Awaited<ReturnType<typeof startFakeBucket>>

export async function startFakeBucket() {
  const objects = new Map<string, string>()
  let broken: 'refuses' | 'breaks off' | undefined
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const url = new URL(request.url ?? '', 'http://store')
      const say = (code: number, content: string) => response.writeHead(code).end(content)
      if (broken === 'breaks off') {
        response.writeHead(200, { 'content-length': 1000 }).flushHeaders()
        return response.write('<', () => request.socket.resetAndDestroy())
      }
      if (broken) return say(503, '<Error><Code>SlowDown</Code></Error>')
      if (!request.headers.authorization?.includes('Credential=fake-id/'))
        return say(403, '<Error><Code>AccessDenied</Code></Error>')
      if (request.method === 'POST') {
        for (const [, key = ''] of body.matchAll(/<Key>([^<]*)<\/Key>/g)) objects.delete(key)
        return say(200, '<DeleteResult/>')
      }
      const key = decodeURIComponent(url.pathname.replace('/fake-bucket', '').slice(1))
      if (key !== '') return objects.has(key) ? say(200, objects.get(key) ?? '') : say(404, '')
      const prefix = url.searchParams.get('prefix') ?? ''
      const listed = [...objects.keys()].filter((one) => one.startsWith(prefix)).toSorted()
      const page = listed.slice(0, Number(url.searchParams.get('max-keys') ?? 1000))
      return say(200, page.map((one) => `<Contents><Key>${one}</Key></Contents>`).join(''))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const endpoint = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  return {
    objects,
    settings: {
      bucket: 'fake-bucket',
      prefix: 'below',
      endpoint,
      s3_region: 'us-east-1',
      secret: { namespace: 'kube-system', name: 'store-keys' },
    },
    /** From now on it refuses all, or ends in the middle of each answer; the result ends that. */
    break(how: 'refuses' | 'breaks off' = 'refuses'): () => void {
      broken = how
      return () => void (broken = undefined)
    },
    stop: async (): Promise<void> => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
