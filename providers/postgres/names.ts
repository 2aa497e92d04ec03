// The names of databases and roles, the same in every region. Pure.

/** What clients log in as, and where to. */
export const master_role = 'tsdbadmin'
export const master_database = 'tsdb'
/** The same database, pooled by transaction. */
export const transaction_database = `${master_database}_transaction`

/** Which of PostgreSQL's own roles the master role has. None that reads verifiers or locks catalogs. */
export const master_rights = ['pg_monitor', 'pg_signal_backend', 'pg_checkpoint'] as const

/** The control plane's own. Roles of these names are made with every cluster, so that no tenant can have made one before. */
export const superuser = 'postgres'
export const standby_role = 'howdah_standby'
export const pooler_role = 'howdah_pooler'

/** By which a copy in another region reads a service, while it is made. */
export const copy_role_prefix = 'howdah_copy_'
export const copyRoleOf = (copy_id: string) => `${copy_role_prefix}${copy_id}`
