// howdah admin project create | list. A project always has an owner, who can act in it.
import { insertOperatorAct } from '#server/audit/operator.ts'
import { findUserByEmail, listUsers } from '#server/identity/store.ts'
import type { Sql } from '#server/store/db.ts'
import { newId } from '#server/id.ts'
import { insertMember } from '#server/member/store.ts'
import { insertProject, listProjects } from '#server/project/store.ts'
import { CommandError, json_option } from '../command.ts'
import type { OperatorCommand } from '../operator-command.ts'
import { parseName } from './name.ts'
import { withStore } from '../store.ts'
import { printRows } from '../table.ts'

export const projectCreate: OperatorCommand = {
  name: 'admin project create',
  summary: 'Make a project and print its id.',
  options: {
    name: { value: 'text', required: true, description: 'The project’s name.' },
    owner: { value: 'email', description: 'A user; left out: the installation’s first user.' },
  },
  run: async ({ config, need, text }) => {
    const name = parseName(need('name'))
    const project = await withStore(config, (db) =>
      db.transaction(async (tx) => {
        const user_id = await ownerOf(tx, text('owner'))
        const made = await insertProject(tx, { id: newId(), name })
        await insertMember(tx, { project_id: made.id, user_id, role: 'owner' })
        await insertOperatorAct(tx, 'createProject', { project_id: made.id, resource_id: made.id })
        return made
      }),
    )
    console.log(project.id)
  },
}

export const projectList: OperatorCommand = {
  name: 'admin project list',
  summary: 'List the projects.',
  options: json_option,
  run: async ({ config, isSet }) => {
    const projects = await withStore(config, (db) => listProjects(db))
    const rows = projects.map(({ id, name, created }) => ({ id, name, created: created.toISOString() }))
    printRows(rows, ['id', 'name', 'created'], isSet('json'))
  },
}

async function ownerOf(sql: Sql, email: string | undefined): Promise<number> {
  const user = email === undefined ? (await listUsers(sql))[0] : await findUserByEmail(sql, email)
  if (user !== undefined && user.claimed_in !== null) {
    throw new CommandError(
      `only project ${user.claimed_in} vouches for ${user.email}; howdah admin user reset-password makes a link to send there first`,
    )
  }
  if (user !== undefined) return user.id
  throw new CommandError(`there is no user ${email ?? 'yet'}; howdah admin user create makes one`)
}
