// The namespace of a VPC: which file stands for it, and how programs get to it. Pure. Root's are where iproute2 keeps all of
// them. An ordinary user has networks inside a user namespace, whose process (owner_process.ts) a link in our own folder leads to;
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
  /** The words before a program that makes or removes networks. */
  manage: readonly string[]
  /** The words before a program that changes this one. */
  change: readonly string[]
  /** The words before a program that is to run inside, as the user that we are. */
  enter: readonly string[]
}

export function namespaceAt(of: NetworkNames, vpc_id: string): Namespace {
  const name = namespaceOf(of, vpc_id)
  const path = join(namespacesOf(of), name)
  const nsenter = ['nsenter', `--net=${path}`, '--']
  if (isHostRoot()) return { name, path, manage: [], change: nsenter, enter: nsenter }
  const owner_process = ownerProcessOf(of)
  const user = mayGiveUsers() ? [] : ['--preserve-credentials', `--user=${owner_process}/ns/user`]
  // There the other networks have their names.
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

/** A link to the folder of the process that holds the networks of an ordinary user. */
export function ownerProcessOf({ directory }: Pick<NetworkNames, 'directory'>): string {
  return join(foldersOf(directory).run, 'networks')
}

/** In their user namespace whoever made it is root, and PostgreSQL refuses to be: so programs have one more, as themselves. */
function ourselves(): string[] {
  return ['unshare', '--user', `--map-user=${process.getuid?.()}`, `--map-group=${process.getgid?.()}`, '--']
}
