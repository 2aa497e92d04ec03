// howdah user create | list. A user is who a token acts for; what they may do is their role in each project.
import { findUserByEmail, insertUser, listUsers } from '#server/identity/store.ts'
import { insertMember } from '#server/member/store.ts'
import { type Command, CommandError, json_option } from './command.ts'
import { parseEmail, parseName, parseRole, projectOf } from './name.ts'
import { withStore } from './store.ts'
import { printRows } from './table.ts'

export const userCreate: Command = {
  name: 'user create',
  summary: 'Make a user, as a member of a project, and print their id.',
  options: {
    email: { value: 'address', required: true, description: 'Unique; case does not matter.' },
    name: { value: 'text', required: true, description: 'The person’s name.' },
    project: { value: 'id', description: 'The project to join; may be left out where there is only one.' },
    role: { value: 'role', description: 'viewer, developer, admin or owner; left out: developer.' },
  },
  run: async ({ config, need, text }) => {
    const email = parseEmail(need('email'))
    const name = parseName(need('name'))
    const role = parseRole(text('role') ?? 'developer')
    const user = await withStore(config, (db) =>
      db.transaction(async (tx) => {
        if ((await findUserByEmail(tx, email)) !== undefined) throw new CommandError(`there is a user ${email} already`)
        const project_id = await projectOf(tx, text('project'))
        const made = await insertUser(tx, { email, name })
        await insertMember(tx, { project_id, user_id: made.id, role })
        return made
      }),
    )
    console.log(String(user.id))
  },
}

export const userList: Command = {
  name: 'user list',
  summary: 'List the users.',
  options: json_option,
  run: async ({ config, isSet }) => {
    const users = await withStore(config, (db) => listUsers(db))
    const rows = users.map(({ id, email, name, created }) => {
      return { id: String(id), email, name, created: created.toISOString() }
    })
    printRows(rows, ['id', 'email', 'name', 'created'], isSet('json'))
  },
}
