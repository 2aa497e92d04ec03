// Where the pooler of a service lives. Pure.
import type { Node } from '../host/layout.ts'

/** The folder is PgBouncer's own; all other files are ours, and it may read the two that it needs. */
export function poolerFilesOf({ home }: Node) {
  const folder = `${home}/pooler`
  return {
    folder,
    pid_name: 'pid',
    settings: `${home}/pooler.ini`,
    users: `${home}/pooler.users`,
    log: `${home}/pooler.log`,
    /** Names the process, how it was started and what it has read since. */
    loaded: `${home}/pooler.loaded`,
    /** There while clients are made to wait. */
    paused: `${home}/pooler.paused`,
  }
}
