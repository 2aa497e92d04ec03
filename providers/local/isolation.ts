// Whether each database has a user of the operating system for itself. Root gives it one. For an ordinary user there is only that
// user, so code that breaks out of one database is inside all of them: that is said, and never imitated.

const shared =
  'all databases run as this user, so only PostgreSQL itself keeps a tenant from the other databases, the metadata store and the keys'
const needed =
  'that takes a server that runs as root, such as by a systemd unit without User=; the subordinate users of an ordinary user (/etc/subuid) are not used'

export const sharedUserFinding = (): string => `running as user ${process.getuid?.()}: ${shared}`

/** For a server that runs; undefined when each database has a user of its own. */
export function sharedUserWarning(): string | undefined {
  return process.getuid?.() === 0
    ? undefined
    : `${shared}; run the server as root to give each database a user of its own`
}

/** Why this server cannot keep databases apart by users, and what it would take; undefined when it does. */
export function isolationRefusal(): string | undefined {
  if (process.getuid?.() === 0) return undefined
  return `--isolate is refused: ${shared}; to give each database a user of its own ${needed}`
}
