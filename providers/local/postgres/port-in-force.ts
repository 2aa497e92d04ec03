// The port of a running service, and its start, read from its pid file: attaching to a VPC and leaving one change the wanted port, and the
// running server may still have the one before.
import { listeningAt, type Node } from '../host/layout.ts'
import { readText } from '../host/tenant-files.ts'

export async function inForce(node: Node): Promise<Node> {
  return listeningAt(node, portOfPidFile(readText(node.data, 'postmaster.pid')) ?? node.port)
}

/** The fourth line; undefined while it is not written. */
export function portOfPidFile(text: string | undefined): number | undefined {
  return Number(text?.split('\n')[3]) || undefined
}

/** The third line, in milliseconds since 1970. The tenant can write there what it likes. */
export function startOfPidFile(text: string): number | undefined {
  return Number(text.split('\n')[2]) * 1000 || undefined
}
