// Settings of every server, whatever its size and its region. Pure.

export const fixed_settings = {
  ssl_min_protocol_version: 'TLSv1.2',
  password_encryption: 'scram-sha-256',
  // A role that the master role creates is usable by it at once, as people expect of an administrator.
  createrole_self_grant: 'set, inherit',
  timezone: 'UTC',
  lc_messages: 'C',
} as const

export const log_settings = {
  log_timezone: 'UTC',
  // What people search for afterwards, and nothing that a busy service logs a thousand times a second.
  log_statement: 'ddl',
  log_min_duration_statement: '1s',
  log_autovacuum_min_duration: '1s',
  log_checkpoints: 'on',
  log_lock_waits: 'on',
  log_temp_files: '10MB',
  // Values that are bound to statements are data, and may be secrets.
  log_parameter_max_length: 0,
  log_parameter_max_length_on_error: 0,
} as const
