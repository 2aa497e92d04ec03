// The handlers of projects. A personal access token is scoped to one, and the verified caller already names it; a user
// has those that they are a member of.
import { api } from '#contract/api.ts'
import { Fault, notFound, unknown_project } from '#contract/fault.ts'
import type { project_endpoints } from '#contract/project.ts'
import { type Db, isForeignKeyViolation } from '../store/db.ts'
import type { AccessParts, Handlers, TokenCaller } from '../http/handler.ts'
import { newId } from '../id.ts'
import { lockProjectFor } from '../identity/permission.ts'
import { lockUser } from '../identity/store.ts'
import { insertMember } from '../member/store.ts'
import {
  type CallersProjectRow,
  type Content,
  countOwnedProjects,
  countServices,
  findProject,
  insertProject,
  listContents,
  listProjectsOfUser,
  lockProjectAgainstUse,
  removeProject,
  saveProjectName,
} from './store.ts'

const projects_per_owner_max = 100
const contents_named_max = 10

export function projectHandlers({ db, callers }: AccessParts): Pick<Handlers, keyof typeof project_endpoints> {
  return {
    listProjects: async ({ caller }) => {
      const rows = await (caller.type === 'apiKey'
        ? listProjectOfToken(db, caller)
        : listProjectsOfUser(db, Number(caller.user.id)))
      return rows.map((row) => ({ ...row, created: row.created.toISOString() }))
    },

    createProject: ({ caller, body }) => {
      const user_id = Number(caller.user.id)
      return db.transaction(async (tx) => {
        await lockUser(tx, user_id)
        if ((await countOwnedProjects(tx, user_id)) >= projects_per_owner_max) {
          throw new Fault('QUOTA_EXCEEDED', `a user owns at most ${projects_per_owner_max} projects; delete one first`)
        }
        const project = await insertProject(tx, { id: newId(), name: body.name.trim() })
        await insertMember(tx, { project_id: project.id, user_id, role: 'owner' })
        return project
      })
    },

    renameProject: async ({ params, body }) => {
      const project = await saveProjectName(db, params.project_id, body.name.trim())
      if (project === undefined) throw notFound(unknown_project)
      callers.forget()
      return project
    },

    deleteProject: async ({ params: { project_id }, caller }) => {
      await db
        .transaction(async (tx) => {
          await lockProjectAgainstUse(tx, project_id)
          await lockProjectFor(tx, project_id, caller, api.deleteProject.access)
          const contents = await listContents(tx, project_id, contents_named_max)
          if (contents.length > 0) throw notEmpty(contents)
          await removeProject(tx, project_id)
        })
        .catch((error: unknown) => {
          throw isForeignKeyViolation(error) ? notEmpty([]) : error
        })
      callers.forget()
    },
  }
}

async function listProjectOfToken(db: Db, { project, role }: TokenCaller): Promise<CallersProjectRow[]> {
  const row = await findProject(db, project.id)
  return row === undefined ? [] : [{ ...row, role, services: await countServices(db, project.id) }]
}

function notEmpty(contents: readonly Content[]): Fault {
  const total = contents[0]?.total ?? 0
  const named = contents.map(({ kind, id, name }) => `${kind} ${id} (${name})`).join(', ')
  const more = total > contents.length ? ` and ${total - contents.length} more` : ''
  const advice = 'delete what is in it first, and purge deleted services'
  return new Fault('CONFLICT', `the project is not empty; ${advice}: ${named || 'something'}${more}`)
}
