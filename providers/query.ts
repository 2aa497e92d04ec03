// What a region is told of one SQL statement, and what it answers: see `query` in provider.ts.

/** One statement in a database of a service. It begins nothing else, and ends with its limits. */
export type QuerySpec = {
  database: string
  statement: string
  /** As PostgreSQL reads text. */
  parameters: readonly (string | null)[]
  /** `read`: in a transaction that only reads, and is rolled back. */
  mode: 'read' | 'write'
  row_limit: number
  timeout_seconds: number
  /** Who asks, for the log of the service. */
  application_name: string
}

export type QueryAnswer = {
  columns: readonly { name: string; type: string }[]
  /** As PostgreSQL writes text. */
  rows: readonly (readonly (string | null)[])[]
  /** How many rows the statement returned or changed, as far as it went. */
  row_count: number
  /** There are more rows than the limits of rows and bytes let through. */
  truncated: boolean
  notices: readonly string[]
  /** PostgreSQL's word for the kind of the statement, such as `SELECT`. */
  command: string
  took_ms: number
}

/** `refused`: by PostgreSQL, in its words. `unavailable`: it could not be asked now. */
export type QueryRefusal = { refused: string; details?: string } | { unavailable: string }
