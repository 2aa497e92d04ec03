// The signature of a request to an object store, as S3 wants it (AWS Signature Version 4). Pure.
import { createHash, createHmac } from 'node:crypto'

export type Keys = { id: string; secret: string }

type Spec = {
  method: string
  url: URL
  headers: Readonly<Record<string, string>>
  body: string
  keys: Keys
  region: string
  now: Date
}

/** The headers of the request, with the signature among them. */
export function signedHeaders({ method, url, headers, body, keys, region, now }: Spec): Record<string, string> {
  const time = now.toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const date = time.slice(0, 8)
  const all: Record<string, string> = {
    ...headers,
    host: url.host,
    'x-amz-content-sha256': sha256(body),
    'x-amz-date': time,
  }
  const names = Object.keys(all).toSorted()
  const request = [
    method,
    url.pathname,
    [...url.searchParams]
      .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
      .toSorted()
      .join('&'),
    ...names.map((name) => `${name}:${all[name]}`),
    '',
    names.join(';'),
    sha256(body),
  ].join('\n')
  const scope = `${date}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(request)].join('\n')
  const key = [date, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${keys.secret}`)
  const signature = hmac(key, text).toString('hex')
  const { host: _sent_anyway, ...sent } = all
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 Credential=${keys.id}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  }
}

/** As a path or a query has it: all but letters, digits and four signs. */
export const escaped = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
