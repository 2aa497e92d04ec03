// The pages of a service in the console: their names are the last segment of their addresses, which `howdah open` and people can guess.

export const service_pages = [
  'connect',
  'sql',
  'metrics',
  'logs',
  'forks',
  'replicas',
  'network',
  'events',
  'settings',
] as const
