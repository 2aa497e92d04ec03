// What a service logs, the same in every region. Pure.

export const log_settings = {
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
