// What a fake API server has: objects by their path, each change with a number of its own. Server-side apply of its one manager is a
// replace of what that manager wrote before; what others wrote stays.
import { randomUUID } from 'node:crypto'

export type Meta = {
  name: string
  namespace?: string
  uid: string
  resourceVersion: string
  generation: number
  deletionTimestamp?: string
  labels: Record<string, string>
  annotations: Record<string, string>
}
export type Held = {
  apiVersion: string
  kind: string
  metadata: Meta
  spec?: Tree
  status?: Tree
  data?: Tree
  stringData?: Tree
}
export type Tree = { [name: string]: unknown }
export type Event = { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: Held; collection: string }

export class Refused extends Error {
  override readonly name = 'RefusedError'
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export type Store = ReturnType<typeof newStore>

export function newStore() {
  const objects = new Map<string, Held>()
  const applied = new Map<string, Held>()
  /** Node ports, each with the path of its Service. */
  const ports = new Map<number, string>()
  const listeners = new Set<(event: Event, version: number) => void>()
  const history: { event: Event; version: number }[] = []
  let [version, compacted] = [100, 0]

  function tell(type: Event['type'], path: string, object: Held): void {
    const event = { type, object: structuredClone(object), collection: path.slice(0, path.lastIndexOf('/')) }
    history.push({ event, version })
    for (const listener of listeners) listener(event, version)
  }

  function put(path: string, next: Held): Held {
    const known = objects.get(path)
    if (!known) refuseInTerminating(next)
    refuseTakenPort(path, next)
    if (known) refuseSmallerVolume(known, next)
    const changed = JSON.stringify(known?.spec) !== JSON.stringify(next.spec)
    const generation = (known?.metadata.generation ?? 0) + (changed ? 1 : 0)
    version += 1
    const object = { ...next, metadata: { ...next.metadata, generation, resourceVersion: String(version) } }
    objects.set(path, object)
    tell(known ? 'MODIFIED' : 'ADDED', path, object)
    return object
  }

  function refuseInTerminating({ metadata: { namespace } }: Held): void {
    if (namespace === undefined) return
    const home = objects.get(`/api/v1/namespaces/${namespace}`)
    if (home === undefined) throw new Refused(404, `namespaces "${namespace}" not found`)
    if (home.metadata.deletionTimestamp) throw new Refused(403, 'forbidden because it is being terminated')
  }

  /** As the operator's webhook does. */
  function refuseSmallerVolume(known: Held, next: Held): void {
    const [before, after] = [known, next].map(({ spec }) => (spec?.['storage'] as { size?: string } | undefined)?.size)
    if (parseInt(after ?? '0') < parseInt(before ?? '0'))
      throw new Refused(422, `can't shrink existing storage from ${before} to ${after}`)
  }

  function refuseTakenPort(path: string, { kind, spec }: Held): void {
    const port = (spec?.['ports'] as { nodePort?: number }[] | undefined)?.[0]?.nodePort
    if (kind !== 'Service' || port === undefined) return
    if ((ports.get(port) ?? path) !== path) throw new Refused(422, 'provided port is already allocated')
    ports.set(port, path)
  }

  return {
    find: (path: string) => objects.get(path),
    list: (collection: string) => [...objects].filter(([path]) => isIn(path, collection)).map(([, held]) => held),
    version: () => version,
    put,
    apply(path: string, manifest: Held): Held {
      const known = objects.get(path)
      const before = applied.get(path)
      const kept = (which: 'labels' | 'annotations') => {
        const own = Object.keys(before?.metadata[which] ?? {})
        const others = Object.entries(known?.metadata[which] ?? {}).filter(([name]) => !own.includes(name))
        return { ...Object.fromEntries(others), ...manifest.metadata[which] }
      }
      applied.set(path, structuredClone(manifest))
      const metadata = {
        ...manifest.metadata,
        uid: known?.metadata.uid ?? randomUUID(),
        labels: kept('labels'),
        annotations: kept('annotations'),
        ...(known?.metadata.deletionTimestamp && { deletionTimestamp: known.metadata.deletionTimestamp }),
      }
      const status = known?.status ? { status: known.status } : {}
      return put(path, {
        ...structuredClone(manifest),
        metadata: { ...metadata, generation: 0, resourceVersion: '' },
        ...status,
      })
    },
    merge(path: string, patch: Tree): Held {
      const known = objects.get(path)
      if (!known) throw new Refused(404, 'not found')
      return put(path, merged(known, patch) as Held)
    },
    remove(path: string, resource_version?: string): void {
      const known = objects.get(path)
      if (!known) throw new Refused(404, 'not found')
      if (resource_version !== undefined && known.metadata.resourceVersion !== resource_version)
        throw new Refused(409, 'the object has been modified')
      version += 1
      objects.delete(path)
      applied.delete(path)
      for (const [port, owner] of ports) if (owner === path) ports.delete(port)
      tell('DELETED', path, { ...known, metadata: { ...known.metadata, resourceVersion: String(version) } })
    },
    /** Everything after that number, and from now on all; the answer ends it. */
    follow(after: number, listener: (event: Event, version: number) => void): () => void {
      if (after < compacted) throw new Refused(410, 'too old resource version')
      for (const past of history) if (past.version > after) listener(past.event, past.version)
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /** Older numbers are not known any more. */
    compact: () => void (compacted = version),
    paths: () => [...objects.keys()],
  }
}

/** `/api/v1/pods` has those of all namespaces. */
function isIn(path: string, collection: string): boolean {
  const parent = path.slice(0, path.lastIndexOf('/'))
  return parent === collection || parent.replace(/\/namespaces\/[^/]+\//, '/') === collection
}

function merged(there: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const result: Tree = { ...(typeof there === 'object' ? there : {}) }
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else result[name] = merged(result[name], value)
  }
  return result
}
