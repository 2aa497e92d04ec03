// The object store of a cell, as far as the provider uses it by itself: what a snapshot says of itself, and the removal of what a
// service has left. Its keys are in a Secret of the cell, and are printed nowhere.
import { createHash } from 'node:crypto'
import type { Client } from '../api/client.ts'
import { NoAnswer } from '../api/errors.ts'
import type { Thing } from '../api/kinds.ts'
import type { StoreSettings } from './settings.ts'
import { escaped, type Keys, signedHeaders } from './signature.ts'

/** The store, or what is needed to reach it, does not do its part; in words. */
export class StoreTrouble extends Error {
  override readonly name = 'StoreTrouble'
}

export type Store = ReturnType<typeof openStore>

/** The members of the Secret, by the names that the operator's own documentation uses. */
export const key_names = { id: 'ACCESS_KEY_ID', secret: 'ACCESS_SECRET_KEY' } as const

const timeout_ms = 5_000
const keys_seconds = 60
/** What S3 lists, and removes, at once. */
const page_objects = 1_000

export function openStore(client: Pick<Client, 'find'>, settings: StoreSettings) {
  const readSecret = newSecret(client, settings)
  const { bucket, endpoint, server_endpoint = endpoint, s3_region: region } = settings
  const ask = async (method: 'GET' | 'POST', path: string, query: Readonly<Record<string, string>>, body = '') => {
    const { keys } = await readSecret()
    const url = new URL(
      `${server_endpoint.replace(/\/$/, '')}/${bucket}${path && `/${path.split('/').map(escaped).join('/')}`}`,
    )
    // Written by the same rules as they are signed.
    url.search = Object.entries(query)
      .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
      .join('&')
    const checksum = body === '' ? {} : { 'content-md5': createHash('md5').update(body).digest('base64') }
    const headers = signedHeaders({ method, url, headers: checksum, body, keys, region, now: new Date() })
    const signal = AbortSignal.timeout(timeout_ms)
    const { status, text } = await fetch(url, { method, headers, signal, ...(body && { body }) })
      .then(async (answer) => ({ status: answer.status, text: await answer.text() }))
      .catch((error: unknown) => {
        throw new StoreTrouble('the object store of the region cannot be reached', { cause: error })
      })
    if (status === 404 && method === 'GET' && path !== '') return undefined
    if (status >= 300) throw new StoreTrouble(`the object store of the region answered ${status}${reasonIn(text)}`)
    return text
  }
  /** In the order of their names, at most so many. */
  const list = async (prefix: string, most = page_objects): Promise<string[]> => {
    const text = await ask('GET', '', { 'list-type': '2', 'max-keys': String(most), prefix })
    return [...(text ?? '').matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = '']) => unescaped(key))
  }
  const remove = async (keys: readonly string[]): Promise<void> => {
    const objects = keys.map((key) => `<Object><Key>${forXml(key)}</Key></Object>`).join('')
    const answer = await ask('POST', '', { delete: '' }, `<Delete><Quiet>true</Quiet>${objects}</Delete>`)
    if (answer?.includes('<Error>'))
      throw new StoreTrouble(`the object store of the region refused a removal${reasonIn(answer)}`)
  }
  return {
    settings,
    list,
    /** Undefined: it is not there. */
    read: (key: string) => ask('GET', key, {}),
    remove,
    /** Some of those below it that are chosen; true: none is left. */
    removeSome: async (prefix: string, isChosen: (key: string) => boolean = () => true): Promise<boolean> => {
      const listed = await list(prefix)
      const chosen = listed.filter(isChosen)
      if (chosen.length > 0) await remove(chosen)
      return listed.length < page_objects || chosen.length === 0
    },
    /** With the version of the Secret that they are from. */
    keys: readSecret,
  }
}

type Secret = { keys: Keys; version: string }

function newSecret(client: Pick<Client, 'find'>, { secret }: StoreSettings) {
  let last: { read: Promise<Secret>; at_ms: number } | undefined
  let known: Secret | undefined
  const read = async (): Promise<Secret> => {
    const found = await client.find({ kind: 'Secret', ...secret })
    const where = `${secret.namespace}/${secret.name}`
    if (found === undefined)
      throw new StoreTrouble(`the Secret ${where} with the keys of the object store is missing; make it`)
    const [id, hidden] = [valueIn(found, key_names.id), valueIn(found, key_names.secret)]
    if (id === undefined || hidden === undefined)
      throw new StoreTrouble(`the Secret ${where} must have ${key_names.id} and ${key_names.secret}`)
    return (known = { keys: { id, secret: hidden }, version: found.metadata.resourceVersion ?? '' })
  }
  /** While the cluster does not answer, the keys of before are taken for the present ones. */
  const orKnown = (error: unknown): Secret => {
    if (known !== undefined && error instanceof NoAnswer) return known
    throw error
  }
  return () => {
    if (last !== undefined && performance.now() - last.at_ms < keys_seconds * 1000) return last.read
    const next = { read: read().catch(orKnown), at_ms: performance.now() }
    last = next
    next.read.catch(() => (last = undefined))
    return next.read
  }
}

function valueIn(secret: Thing, name: string): string | undefined {
  // The form of the kind.
  const data = 'data' in secret ? (secret.data as Readonly<Record<string, string>> | undefined) : undefined
  const value = data?.[name]
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString()
}

const reasonIn = (text: string) => {
  const [, code] = /<Code>([\w.]{1,64})<\/Code>/.exec(text) ?? []
  return code === undefined ? '' : ` (${code})`
}

const forXml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
const unescaped = (text: string) =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
