// The metadata store for commands: the server's own, also while no server runs.
// 1. A command never makes an installation: only `howdah start` does. 2. An embedded store that had to be started for
//    a command is stopped again after it, also for a start that fails. 3. A command that reads an isolated installation does so from inside.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { enterUserNamespace } from '#providers/local/host/user-namespace.ts'
import type { Config } from '#server/config.ts'
import type { Db } from '#server/store/db.ts'
import { findIsolation, openInstallation } from '#server/installation.ts'
import { metadataStoreIsRunning, stopMetadataStore } from '#server/store/embedded.ts'
import { CommandError } from './command.ts'
import { listRunning } from './running.ts'

export async function withStore<T>(config: Config, work: (db: Db) => Promise<T>): Promise<T> {
  await enterInstallation(config)
  const installation = await openInstallation(config.data_dir)
  const stopAgain = await storeStopper(config)
  // Loaded only here, so that help and usage errors come at once.
  const { openStore } = await import('#server/store/access.ts')
  const { newLog } = await import('#server/log.ts')
  try {
    const store = await openStore(config, installation, newLog('silent'), { onWait: tellWait })
    try {
      return await work(store.db)
    } finally {
      await store.close()
    }
  } finally {
    await stopAgain()
  }
}

/** Stops an embedded store that does not run by now, unless a server has come to need it, or is about to. */
export async function storeStopper({ database_url, data_dir }: Config): Promise<() => Promise<void>> {
  const place = { directory: join(data_dir, 'store') }
  const is_left = database_url !== undefined || (await metadataStoreIsRunning(place))
  return async () => {
    if (!is_left && listRunning(data_dir).length === 0) await stopMetadataStore(place)
  }
}

export function tellWait(reason: string): void {
  console.error(`Waiting for the metadata store: ${reason}`)
}

/** An embedded store may be stopped; the operator's own is simply queried. */
export async function storeIsUp(config: Config): Promise<boolean> {
  return (
    config.database_url !== undefined || (await metadataStoreIsRunning({ directory: join(config.data_dir, 'store') }))
  )
}

/** To be called first: of an isolated installation the command begins anew, inside. */
export async function enterInstallation({ data_dir }: Config): Promise<void> {
  if (!existsSync(join(data_dir, 'installation-id'))) {
    throw new CommandError(
      `there is no Howdah in ${data_dir}; make one with howdah start, or name another directory with --data-dir`,
    )
  }
  const isolation = await findIsolation(data_dir)
  if (isolation !== undefined) await enterUserNamespace(data_dir, isolation)
}
