// The files with which the primary of a service starts: its certificate, its settings and who may log in.
import type { WantedService } from '../../provider.ts'
import { ensureStandbyFiles } from '../ha/standby-server.ts'
import { isStandby } from '../ha/standby-data.ts'
import { standbySpecOf } from '../ha/standby-spec.ts'
import type { Node } from '../host/layout.ts'
import { hostsOf } from '../network/service-network.ts'
import { ensureCertificate } from '../postgres/certificate.ts'
import { floorOf } from '../postgres/control-file.ts'
import { ensureServerFiles } from '../postgres/files.ts'
import type { PostgresInstallation } from '../postgres/installation.ts'
import type { Start } from './server.ts'
import type { ServiceHost } from './service-host.ts'

/** `written`: the files that this pass has written already. */
export async function startWith(
  host: ServiceHost,
  node: Node,
  wanted: WantedService,
  installation: PostgresInstallation,
  written: readonly Start[],
): Promise<Start> {
  const known = written.find((start) => start.installation === installation)
  return known ?? (await ensureStartFiles(host, node, wanted, installation))
}

export async function ensureStartFiles(
  host: ServiceHost,
  node: Node,
  wanted: WantedService,
  installation: PostgresInstallation,
): Promise<Start> {
  const { size, extensions, reach: endpoint } = wanted
  await ensureCertificate(host.effect, node, host.authority, hostsOf(wanted))
  if (node.role === 'relayed') {
    const hashes = await ensureStandbyFiles(host, standbySpecOf(node, node.number, wanted, installation))
    return { ...hashes, installation }
  }
  // A node that takes over starts with the settings of the standby that it was. Of damaged data PostgreSQL itself reports what is wrong.
  const floor = (await isStandby(node)) ? await floorOf(node.data).catch(() => undefined) : undefined
  const hashes = await ensureServerFiles(host, installation, { size, extensions, endpoint, node, floor })
  return { ...hashes, installation }
}
