// What PostgreSQL needs of this host: the machine, the installations, and the parts of a server's settings that depend on the host.
import type { Size } from '../../provider.ts'
import type { Machine } from '../host/machine.ts'
import type { PostgresInstallation } from './installation.ts'
import type { Spares } from './spare.ts'
import type { Authority } from '../../postgres/certificate.ts'

/** Whether a service takes writes and logins right now. */
export type Access = {
  /** Undefined: not known yet, so it stays as it is. */
  writes: boolean | undefined
  logins: boolean
  /** Since when writes are refused. */
  since?: Date
  /** For the temporary files of one session; absent: that of its size. */
  temp_file_limit?: '0' | '64MB'
  /** Whether finished WAL is archived; absent: it is. */
  archives?: boolean
}

export type PostgresHost = Machine & {
  control_plane_user: string
  memory_mb: number
  authority: Authority
  installations: readonly PostgresInstallation[]
  template(installation: PostgresInstallation): Promise<string>
  spares: Spares
  /** Begins a copy of the template for the next service, in the background. */
  beginSpare(): void
  log_rotation_mb: number
  quotaBytesOf(size: Size): number | undefined
  accessOf(service_id: string): Access
}
