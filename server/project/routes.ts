// The projects a caller can access. A personal access token is scoped to one, and the verified caller already names it.
import type { Handlers } from '../handler.ts'

export function projectHandlers(): Pick<Handlers, 'listProjects'> {
  return {
    listProjects: async ({ caller }) => [caller.project],
  }
}
