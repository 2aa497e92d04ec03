// The part of the boundary that is about copies off the machine: what a region makes ready, what it takes back, and how it tries that out.

/** The WAL of one service, made ready to be copied elsewhere: whole files in a folder that no other user can enter. */
export type StagedWal = {
  service_id: string
  /** Every commit before this moment is in the files. */
  at: Date
  folder: string
  /** By their path below the folder. */
  files: readonly { path: string; bytes: number }[]
  /** Why WAL up to that moment is not in the files, and follows later; absent: it is. The files of the last time stay. */
  behind?: string
}

/** No staged file is larger, unless its service's user writes to it after it was staged. */
export const staged_file_bytes_max = 16 * 1024 ** 2

/** A complete snapshot: a folder whose files do not change. */
export type StagedSnapshot = { service_id: string; snapshot_id: string; taken_at: Date; folder: string }

/** What a copy elsewhere gave back of a service: the folder of a snapshot, and the folder of WAL with the files that follow it. */
export type FetchedService = { snapshot_id: string; snapshot_folder: string; wal_folder: string }

/** Files are moved out of the folders. */
export type RestoredService = FetchedService & {
  service_id: string
  /** Of its home address. */
  port: number
  /** In UTC, to the microsecond; absent: to the end of the WAL. */
  at?: string | undefined
}

/** fetch: brings all commits before a moment, and maybe later ones, back from a copy elsewhere; undefined: there is no such copy yet. */
export type DrillOptions = {
  signal: AbortSignal
  fetch?: ((since: Date) => Promise<FetchedService | undefined>) | undefined
}

export type Laying = {
  /** Fills the folder that it is given. */
  fetch: (folder: string) => Promise<FetchedService & { at?: string | undefined }>
  /** A service without a first pass is made of the folder that was laid ready, however long ago that was. */
  isWanted: (service_id: string) => Promise<boolean>
}

/** A drill that says nothing of whether the service can be restored. */
export class Untried extends Error {
  override readonly name = 'Untried'
}

/** A region whose data is copied elsewhere by the server. */
export type Backup = {
  /** Files and folders without which the region is another one, such as that of its certificates. */
  keys: readonly string[]
  /** Only WAL that has changed since the last call costs anything. `written`: services whose users can write to no file that is staged. */
  stageWal(written?: ReadonlySet<string>): Promise<readonly StagedWal[]>
  listSnapshots(): Promise<readonly StagedSnapshot[]>
  /** Of all WAL and snapshots at rest that have none yet. To be called again and again. */
  noteChecksums(signal: AbortSignal): Promise<void>
  /**
   * Restores a snapshot and the WAL after it into a node that no client reaches, reads it, compares it with the service, and removes it. A
   * sentence: why it could not be restored, with the file that is damaged or missing. Where it could not be tried out it throws
   * Untried, or fails as a full disk does.
   */
  drill(service_id: string, options: DrillOptions): Promise<string | undefined>
  /** Whether the WAL goes through the snapshot, which may be of a state that the service left. at: absent: to the end of the WAL. */
  leadsOn(fetched: FetchedService, at: string | undefined): Promise<boolean>
  /** Lays ready what a service that is not wanted yet is made of, and removes what killed callers laid ready. */
  layReady(service_id: string, laying: Laying): Promise<void>
  /**
   * Puts the service in place, unless it has data, so that its next pass lets it recover. A sentence: the WAL has a gap, and it recovers
   * up to there.
   */
  restore(service: RestoredService): Promise<string | undefined>
}
