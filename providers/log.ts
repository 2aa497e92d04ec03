// What a region is asked of the log of a service or a replica set, and what it answers: see `logs` in provider.ts.

export type LogEntry = {
  /** RFC 3339. */
  timestamp: string
  severity: string
  /** Without passwords, and bounded in length. */
  message: string
  process_id?: number
  user?: string
  database?: string
  application?: string
  state_code?: string
}

/** `at`: after it, for a tail. */
export type PlacedEntry = { entry: LogEntry; node: number; at: string }

export type LogQuery = {
  /** By its number; absent: the cursor's node, or the current primary; of a replica set the first. */
  node?: number | undefined
  /** From an earlier page of the same service. */
  cursor?: string | undefined
  /** How many of the newest entries to pass over. */
  skip: number
  limit: number
  /** All of these occur in the message, in whatever case. */
  search: readonly string[]
  /** One of these, in PostgreSQL's spelling; empty: any. */
  severities: readonly string[]
  /** Of this process only. */
  process_id?: number | undefined
  /** Both exclusive. */
  since_ms?: number | undefined
  until_ms?: number | undefined
}

/** Newest first. `cursor` is there when older entries may follow. `placed`: the same entries, with their places. */
export type LogPage = { entries: readonly LogEntry[]; cursor?: string; placed: () => readonly PlacedEntry[] }

/** Which entries are asked for. */
export type LogFilter = Pick<LogQuery, 'search' | 'severities' | 'process_id'>

/** A log that is read forwards. `after`: from an earlier page of the same service, in either direction; absent: from the beginning. */
export type LogTailQuery = LogFilter &
  Pick<LogQuery, 'node' | 'since_ms'> & {
    after?: string | undefined
  }

/**
 * In the order of writing, as many as are read at once. `at`: where to go on, which moves also when no entry matched; absent: the log
 * has not begun. Without a node the tail goes over to the next primary when it has read all of the last one.
 */
export type LogTail = { entries: readonly PlacedEntry[]; at?: string | undefined }

/** Which member of the query names nothing that exists. */
export type LogRefusal = { refused: 'node' | 'cursor' }

/** Why it cannot be read now. */
export type LogSilence = { unavailable: string }

/** Of a service or a replica set, by its id. */
export type Logs = {
  page(id: string, query: LogQuery): Promise<LogPage | LogRefusal | LogSilence>
  tail(id: string, query: LogTailQuery): Promise<LogTail | LogRefusal | LogSilence>
}
