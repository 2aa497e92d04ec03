// What the instance manager of a primary says of it: the operator itself says of a node only that its Pod is ready.
import type { Cell } from '../cell.ts'
import { instancesOf, isPrimary, isReady, type Owned } from './look.ts'

/** Undefined: there is no primary that could be asked. */
export async function readStatus({ client }: Pick<Cell, 'client'>, { pods }: Owned): Promise<string | undefined> {
  const primary = instancesOf(pods).find((pod) => isReady(pod) && isPrimary(pod))
  if (primary === undefined) return undefined
  const { namespace, name } = primary.metadata
  return await client
    .text(`/api/v1/namespaces/${namespace}/pods/https:${name}:8000/proxy/pg/status`)
    .catch(() => undefined)
}
