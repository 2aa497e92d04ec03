// What `howdah doctor` says of the regions that are not this machine: what each lacks, and what it does not offer. It only asks: it works
// without a server, and beside a running one.
import { messageOf } from '#providers/host/message.ts'
import type { HostFact } from '#providers/local/host-facts.ts'
import { examineProvider } from '#providers/registry.ts'
import type { Config } from '#server/config.ts'
import { findInstallationId } from '#server/installation.ts'
import { regionRowsOf } from '#server/regions.ts'

export async function regionFacts(config: Pick<Config, 'regions' | 'region' | 'data_dir'>): Promise<HostFact[]> {
  const installation_id = await findInstallationId(config.data_dir)
  const facts: HostFact[] = []
  for (const { region_code: region, provider, members = {}, near = '' } of regionRowsOf(config)) {
    const examined = await examineProvider(provider, { region, installation_id, members, near }).catch(
      (error: unknown) => ({ lacks: [messageOf(error)], not_offered: [] }),
    )
    if (examined === undefined) continue
    const name = `region ${region}`
    const { lacks, not_offered } = examined
    if (lacks.length === 0) facts.push({ name, supported: true, finding: 'the cluster has all that is needed' })
    for (const finding of [...lacks, ...not_offered]) facts.push({ name, supported: false, finding })
  }
  return facts
}
