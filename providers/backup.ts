// The part of the boundary that is about copies off the machine: what a region makes ready, what it takes back, and how it tries that out.

/** The WAL of one service, made ready to be copied elsewhere: whole files in a folder that no other user can enter. */
export type StagedWal = {
  service_id: string
  /** Every commit before this moment is in the files. */
  at: Date
  folder: string
  /** By their path below the folder. */
  files: readonly { path: string; bytes: number }[]
  /** The archived files that it has, which have no gap; absent: none yet. */
  archived?: { first: string; last: string }
}

/** A service whose WAL could not be made ready, and why. */
export type UnstagedWal = { service_id: string; failed: string }

/** A complete snapshot: a folder whose files do not change. */
export type StagedSnapshot = { service_id: string; snapshot_id: string; taken_at: Date; folder: string }

/** What a copy elsewhere gave back of a service: the folder of a snapshot, and folders with the WAL that follows. */
export type RestoredService = {
  service_id: string
  /** Of its home address. */
  port: number
  snapshot_id: string
  snapshot_folder: string
  /** Archived files, and those that were not finished. Files are moved out of them. */
  wal_folders: { archive: string; partial: string }
  /** In UTC, to the microsecond; absent: to the end of the WAL. */
  at?: string | undefined
}

/** A region whose data is copied elsewhere by the server. */
export type Backup = {
  /** Files and folders without which the region is another one, such as that of its certificates. */
  keys: readonly string[]
  /** Only WAL that has changed since the last call costs anything. */
  stageWal(): Promise<readonly (StagedWal | UnstagedWal)[]>
  listSnapshots(): Promise<readonly StagedSnapshot[]>
  /**
   * Restores its newest snapshot and the WAL after it into a node that no client reaches, reads it, and removes it. A sentence: why it could
   * not be restored, with the file that is damaged or missing.
   */
  drill(service_id: string, signal: AbortSignal): Promise<string | undefined>
  /**
   * Puts the service in place, unless it has data, so that its next pass lets it recover. A sentence: the WAL has a gap, and it recovers
   * up to there.
   */
  restore(service: RestoredService): Promise<string | undefined>
}
