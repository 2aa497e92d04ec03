// What this host lacks for VPCs. Found out by trying.
import { messageOf } from '../../host/message.ts'
import { tryNetworks } from '../network/ip.ts'
import { isHostRoot } from '../../host/privilege.ts'

type Lack = { finding: string; remedy: string }

/** What is missing and how to grant it; undefined when nothing is. */
async function networkRefusal(): Promise<string | undefined> {
  const lack = await networkLack()
  return lack && `services of this region cannot be in a VPC: ${lack.finding}; ${lack.remedy}`
}

let known: Promise<string | undefined> | undefined

/** Tried once by a process where nothing is missing, and each time anew where the administrator may have granted it meanwhile. */
export function networkRefusalOnce(): Promise<string | undefined> {
  const ask = async () => {
    const refusal = await networkRefusal()
    if (refusal !== undefined) known = undefined
    return refusal
  }
  return (known ??= ask())
}

export async function networkLack(): Promise<Lack | undefined> {
  try {
    await tryNetworks()
    return undefined
  } catch (error) {
    const reason = messageOf(error)
    if (!/ENOENT|not found/.test(reason)) return lackOfPrivilege(reason)
    return {
      finding: `the host has no program to make networks (${reason})`,
      remedy: 'install iproute2, util-linux and bash',
    }
  }
}

/** In a user namespace every process has these capabilities, over what is inside it. */
export const permit_user_namespaces =
  'let ordinary users have user namespaces: sysctl user.max_user_namespaces must not be 0, on Debian kernel.unprivileged_userns_clone be 1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns be 0'

function lackOfPrivilege(reason: string): Lack {
  const as_root =
    'run it as root, such as by a systemd unit without User=, and in a container with --cap-add SYS_ADMIN --cap-add NET_ADMIN'
  return {
    finding: `the server may not make networks (${reason}), for which it needs the capabilities CAP_SYS_ADMIN and CAP_NET_ADMIN`,
    remedy: isHostRoot() ? as_root : `${permit_user_namespaces}; or ${as_root}`,
  }
}
