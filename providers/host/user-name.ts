// The name of the user that this process runs as: PostgreSQL knows users by their names.
import { userInfo } from 'node:os'

/** Some containers run programs as a user id that has none. */
export function ownUserName(): string {
  try {
    return userInfo().username
  } catch (error) {
    const reason = `the user id ${process.getuid?.()} has no name in /etc/passwd, and PostgreSQL does not run without one`
    throw new Error(`${reason}; add a line for it, or run Howdah as a user that has a name`, { cause: error })
  }
}
