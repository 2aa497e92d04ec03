// The version of the server, of the command and of the client: one number for all. Pure.

/** The same as in package.json. */
export const version = '0.1.0'

/** Of every answer of the server. */
export const version_header = 'howdah-version'

/** A fetch that calls back once, when an answer comes from a server that is older than the program which asks. */
export function withVersionWatch(
  send: typeof fetch,
  own: string,
  onOlder: (server_version: string) => void,
): typeof fetch {
  let is_told = false
  return async (url, init) => {
    const response = await send(url, init)
    const theirs = response.headers.get(version_header)
    if (!is_told && theirs !== null && isOlder(theirs, own)) {
      is_told = true
      onOlder(theirs)
    }
    return response
  }
}

export function isOlder(one: string, other: string): boolean {
  const [theirs, ours] = [partsOf(one), partsOf(other)]
  const at = ours.findIndex((part, index) => part !== theirs[index])
  return at >= 0 && (theirs[at] ?? 0) < (ours[at] ?? 0)
}

const partsOf = (text: string) => (/^\d+\.\d+\.\d+/.exec(text)?.[0] ?? '0.0.0').split('.').map(Number)
