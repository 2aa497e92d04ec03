// The start of a server whose databases have users of their own. Root gives them some. An ordinary user has them out of its sub ids,
// which are chosen when the data directory is made; from then on it is isolated, and every start of it is.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isHostRoot } from '#providers/host/privilege.ts'
import { enterUserNamespace } from '#providers/local/host/user-namespace.ts'
import type { Config } from '#server/config.ts'
import { ensureIsolatedInstallation, findIsolation } from '#server/installation.ts'
import { CommandError } from './command.ts'

export async function enterIsolation(config: Config, is_wanted: boolean): Promise<void> {
  const { data_dir, service_ports } = config
  if (isHostRoot()) {
    if (is_wanted) console.log('--isolate changes nothing: as root each database has a user of its own already.')
    return
  }
  const { newIsolation, portsRefusal } = await import('#providers/local/isolation.ts')
  if (is_wanted && !existsSync(join(data_dir, 'installation-id'))) {
    const made = await newIsolation(service_ports.last)
    if ('lack' in made) throw new CommandError(`--isolate is refused: ${made.lack.finding}; ${made.lack.remedy}`)
    await ensureIsolatedInstallation(data_dir, made.map)
  }
  const isolation = await findIsolation(data_dir)
  if (isolation === undefined) {
    if (!is_wanted) return
    throw new CommandError(
      `--isolate is refused: ${data_dir} was made without it, so all its databases have one user; start it without --isolate, or choose a new directory with --data-dir`,
    )
  }
  const refusal = portsRefusal(isolation, service_ports.last)
  if (refusal !== undefined) throw new CommandError(refusal)
  await enterUserNamespace(data_dir, isolation)
}
