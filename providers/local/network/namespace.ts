// The namespace of a VPC: its file, and how programs enter it. Pure. Root's are where iproute2 keeps all of
// them. An ordinary user has networks inside a user namespace, whose process (owner-process.ts) a link in our own folder leads to;
// the file is below that process's own /run. In an isolated installation that is the user namespace that we are in.
import { join } from 'node:path'
import { foldersOf } from '../host/layout.ts'
import { isHostRoot, mayGiveUsers } from '../../host/privilege.ts'
import { namespaceOf, type Named } from './name.ts'

/** directory: of the local provider. */
export type NetworkNames = Named & { directory: string }

export type Namespace = {
  name: string
  path: string
  /** The command prefix of a program that makes or removes networks. */
  manage: readonly string[]
  /** The command prefix of a program that changes this network. */
  change: readonly string[]
  /** The command prefix of a program that runs inside, as the server's user. */
  enter: readonly string[]
}

export function namespaceAt(of: NetworkNames, vpc_id: string): Namespace {
  const name = namespaceOf(of, vpc_id)
  const path = join(namespacesOf(of), name)
  const nsenter = ['nsenter', `--net=${path}`, '--']
  if (isHostRoot()) return { name, path, manage: [], change: nsenter, enter: nsenter }
  const owner_process = ownerProcessOf(of)
  const user = mayGiveUsers() ? [] : ['--preserve-credentials', `--user=${owner_process}/ns/user`]
  // The other networks have their names in that mount namespace.
  const names = `--mount=${owner_process}/ns/mnt`
  return {
    name,
    path,
    manage: ['nsenter', ...user, names, `--net=${owner_process}/ns/net`, '--'],
    change: ['nsenter', ...user, names, `--net=${path}`, '--'],
    enter: mayGiveUsers() ? nsenter : ['nsenter', ...user, `--net=${path}`, '--', ...ourselves()],
  }
}

/** Where the files of all namespaces are. */
export function namespacesOf(of: Pick<NetworkNames, 'directory'>): string {
  return isHostRoot() ? '/run/netns' : join(ownerProcessOf(of), 'root/run/netns')
}

/** A link to the folder of the process that owns the networks of an ordinary user. */
export function ownerProcessOf({ directory }: Pick<NetworkNames, 'directory'>): string {
  return join(foldersOf(directory).run, 'networks')
}

/** Root in the user namespace is the user that made it, and PostgreSQL refuses to run as root: so programs get one more, as that user. */
function ourselves(): string[] {
  return ['unshare', '--user', `--map-user=${process.getuid?.()}`, `--map-group=${process.getgid?.()}`, '--']
}
