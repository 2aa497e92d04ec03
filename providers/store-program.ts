// The PostgreSQL of this host that runs the embedded metadata store: the bundled one, or else the newest that can.
import { mayGiveUsers } from './host/privilege.ts'
import { unprivileged } from './host/user-map.ts'
import { foldersOf } from './local/host/layout.ts'
import { findInstallations, type PostgresInstallation } from './local/postgres/installation.ts'

/** The first that has all settings of the embedded store. */
const lowest_major = 18

/**
 * The folder of `postgres` and `initdb`; undefined: there is none. local_directory: where copies lie that services use too. known: what a
 * search of this process has found.
 */
export async function findStoreBin(
  local_directory: string,
  known?: readonly PostgresInstallation[],
): Promise<string | undefined> {
  const uid = mayGiveUsers() ? unprivileged.uid : undefined
  const found = known ?? (await findInstallations([], { copies_directory: foldersOf(local_directory).copies, uid }))
  const chosen = found.find(({ origin }) => origin === 'bundled') ?? found.find(({ major }) => major >= lowest_major)
  return chosen?.bin
}
