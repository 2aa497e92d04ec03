// The settings with which a superuser's session of the control plane begins. Pure. They come with the startup packet, so they win
// over all that a tenant can set for its database and its roles, and are in force before the first statement.
// A server that does not know one of them refuses the session: here are only settings that every server since 16 knows.

/** `major`: of the server, where the session is in a tenant's database; there also settings count that older servers do not know. */
type Session = { major?: number; statement_timeout_ms: number }

/** Shorter than the timeout of any statement, and longer than it takes to terminate a tenant's session that is in the way. */
const lock_timeout_ms = 4_000
/** No transaction of ours waits for anything outside the server. */
const idle_in_transaction_ms_max = 60_000

export function optionsOf({ major = 0, statement_timeout_ms }: Session): string {
  const values = {
    ...fence,
    ...quiet,
    statement_timeout: statement_timeout_ms,
    ...(major >= 17 && known_from_17),
  }
  return Object.entries(values)
    .map(([name, value]) => `-c ${name}=${String(value).replaceAll(' ', String.raw`\ `)}`)
    .join(' ')
}

/** Everything that a tenant can set and that would change the meaning or the effect of our statements. */
const fence = {
  // The temporary schema is named, or it would come first.
  search_path: 'pg_catalog,pg_temp',
  // A setting of the database can make even a superuser's session another role's.
  role: 'none',
  // No policy of a tenant is ever evaluated: a statement to which one applies fails.
  row_security: 'off',
  local_preload_libraries: '',
  lock_timeout: lock_timeout_ms,
  idle_in_transaction_session_timeout: idle_in_transaction_ms_max,
  // Some sessions are open for as long as a copy takes.
  idle_session_timeout: 0,
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  // Also where tenants' writes are refused for lack of disk space.
  default_transaction_read_only: 'off',
  // Our changes must not wait for a standby that we may be about to make. A change that is lost with a primary is made again.
  synchronous_commit: 'local',
  client_encoding: 'UTF8',
  client_min_messages: 'warning',
  standard_conforming_strings: 'on',
  datestyle: 'ISO,MDY',
  intervalstyle: 'postgres',
  timezone: 'UTC',
  bytea_output: 'hex',
  extra_float_digits: 1,
  jit: 'off',
}

/** A failing or slow statement would be logged with its text; statements of other sessions are visible to every role that monitors. */
const quiet = {
  log_statement: 'none',
  log_min_error_statement: 'panic',
  log_min_duration_statement: -1,
  log_min_duration_sample: -1,
  log_transaction_sample_rate: 0,
  track_activities: 'off',
  // Without the library this is an unknown name, which is ignored.
  'pg_stat_statements.track': 'none',
}

/** Of use in a tenant's database only: in `postgres` no tenant sets or makes anything. */
const known_from_17 = { transaction_timeout: 0, event_triggers: 'off' }
