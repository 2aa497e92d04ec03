// The port under which a running service is found, by its own word: attaching to a VPC and leaving one change it, and what
// runs may still be as it was wanted before.
import { listeningAt, type Node } from '../host/layout.ts'
import { readText } from '../host/tenant-files.ts'

export async function inForce(node: Node): Promise<Node> {
  return listeningAt(node, portOfPidFile(readText(node.data, 'postmaster.pid')) ?? node.port)
}

/** The fourth line; undefined while it is not written. */
export function portOfPidFile(text: string | undefined): number | undefined {
  return Number(text?.split('\n')[3]) || undefined
}
