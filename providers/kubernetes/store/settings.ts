// The member `store` of a region's entry in the regions file: where snapshots and WAL go. Pure.

/** Where Pods reach it, and where this server does when that differs. */
export type StoreSettings = {
  bucket: string
  /** Without a slash at its ends; empty: none. */
  prefix: string
  endpoint: string
  server_endpoint?: string
  s3_region: string
  /** Of the cell, with the keys. */
  secret: { namespace: string; name: string }
}

const known = ['path', 'endpoint', 'server_endpoint', 'region', 'secret']

/** `refuse`: throws, with words that name the region. */
export function parseStore(value: unknown, refuse: (problem: string) => never): StoreSettings | undefined {
  if (value === undefined) return undefined
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refuse('has a store that must be an object')
  // An object by the check; its members are checked one by one.
  const members = value as Readonly<Record<string, unknown>>
  const strange = Object.keys(members).find((name) => !known.includes(name))
  if (strange !== undefined) refuse(`has a store with the unknown member ${strange}; known are ${known.join(', ')}`)
  const text = (name: string) => (typeof members[name] === 'string' && members[name] !== '' ? members[name] : undefined)
  const [, bucket, prefix = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w./-]*?))?\/?$/.exec(text('path') ?? '') ?? []
  const [, namespace, name] = /^([a-z0-9-]+)\/([a-z0-9.-]+)$/.exec(text('secret') ?? '') ?? []
  if (bucket === undefined) return refuse('has a store whose path must be like s3://bucket/prefix')
  if (namespace === undefined || name === undefined)
    return refuse('has a store whose secret must be like namespace/name')
  const s3_region = text('region') ?? 'us-east-1'
  const endpoint = text('endpoint') ?? `https://s3.${s3_region}.amazonaws.com`
  const server_endpoint = text('server_endpoint')
  for (const url of [endpoint, server_endpoint ?? endpoint])
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) refuse(`has a store with an endpoint that is no URL: ${url}`)
  return {
    bucket,
    prefix,
    endpoint,
    ...(server_endpoint && { server_endpoint }),
    s3_region,
    secret: { namespace, name },
  }
}
