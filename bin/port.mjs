// Whether a start can listen, asked before anything is installed: one that cannot says so in its first second.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'

const answer_timeout_ms = 2500

/** A sentence that says what to do; undefined where the port is free, or another part of the start has to judge. */
export async function portLack(words, env) {
  const host = settingOf(words, '--host') ?? env.HOWDAH_HOST ?? '127.0.0.1'
  const port = Number(settingOf(words, '--port') ?? env.HOWDAH_PORT ?? 8080)
  if (!Number.isInteger(port) || port <= 0 || port > 65_535) return undefined
  const refusal = await refusalOf(host, port)
  if (refusal === 'EADDRNOTAVAIL' || refusal === 'EACCES')
    return `cannot listen on ${host} port ${port} (${refusal}). Nothing was changed. Choose others with --host and --port`
  // A name that is none is refused by the start itself, in better words.
  if (refusal !== 'EADDRINUSE') return undefined
  const uid = ownerOf(port)
  const owner = uid === undefined ? 'another user' : uid === process.getuid() ? 'you' : nameOf(uid)
  const own = `npm start -- --port ${port + 1}`
  const origin = `http://${['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host}:${port}`
  if (!(await isHowdah(origin))) {
    return `port ${port} is in use by another program (of ${owner}). Nothing was changed. Take another one: ${own}`
  }
  if (owner === 'you') {
    return `port ${port} is in use: Howdah already runs at ${origin}. bin/howdah status says more, bin/howdah stop stops it; a second one: ${own}`
  }
  return (
    `port ${port} is in use: Howdah already runs at ${origin}, started by ${owner}. To use it: bin/howdah login --server ${origin}, ` +
    `with a password or (--with-token) a token of its administrator. To run one of your own: ${own}`
  )
}

function settingOf(words, flag) {
  const at = words.lastIndexOf(flag)
  const joined = words.findLast((word) => word.startsWith(`${flag}=`))
  return joined?.slice(flag.length + 1) ?? (at < 0 ? undefined : words[at + 1])
}

/** The system's, by its code; undefined where a server could listen. */
function refusalOf(host, port) {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error) => resolve(error.code))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}

/** The user of the process that listens there, as the kernel tells it to all users. */
function ownerOf(port) {
  const listening = '0A'
  const ending = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of textOf(file).split('\n')) {
      const [, local = '', , state, , , , uid] = line.trim().split(/\s+/)
      if (state === listening && local.endsWith(ending)) return Number(uid)
    }
  }
  return undefined
}

function nameOf(uid) {
  const row = textOf('/etc/passwd')
    .split('\n')
    .map((line) => line.split(':'))
    .find((cells) => cells[2] === String(uid))
  return row?.[0] ?? `user ${uid}`
}

function textOf(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** By its refusal of a request without a credential, which costs it nothing. */
async function isHowdah(origin) {
  try {
    const signal = AbortSignal.timeout(answer_timeout_ms)
    const answer = await fetch(`${origin}/public/api/v1/projects`, { signal })
    const { code } = await answer.json()
    return answer.headers.has('x-request-id') && (code === 'UNAUTHORIZED' || code === 'RATE_LIMITED')
  } catch {
    return false
  }
}
