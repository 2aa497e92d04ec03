// howdah admin user create | reset-password | list. A user is who a token acts for; what they may do is their role in each project.
import { findUserByEmail, insertUser, listUsers } from '#server/identity/store.ts'
import { insertMember } from '#server/member/store.ts'
import { CommandError, json_option, required } from '../command.ts'
import type { OperatorCommand } from '../operator-command.ts'
import { parseEmail, parseName, parseRole, projectOf } from './name.ts'
import { passwordLinkOf } from './password-link.ts'
import { withStore } from '../store.ts'
import { printRows } from '../table.ts'

export const userCreate: OperatorCommand = {
  name: 'admin user create',
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
    const { createPasswordLink } = await import('#server/oauth/accounts.ts')
    const { id, path } = await withStore(config, (db) =>
      db.transaction(async (tx) => {
        if ((await findUserByEmail(tx, email)) !== undefined) throw new CommandError(`there is a user ${email} already`)
        const project_id = await projectOf(tx, text('project'))
        const made = await insertUser(tx, { email, name })
        await insertMember(tx, { project_id, user_id: made.id, role })
        return { id: made.id, path: await createPasswordLink(tx, made.id) }
      }),
    )
    console.log(String(id))
    const link = passwordLinkOf(config, path)
    // Apart from the id, so that `id=$(howdah admin user create …)` works.
    if (link !== undefined) console.error(`They choose a password here, once, within a day: ${link}`)
  },
}

export const userResetPassword: OperatorCommand = {
  name: 'admin user reset-password',
  summary: 'Print a link with which a user chooses a new password, once, within a day.',
  positionals: required('email'),
  details:
    'The password until now works until the new one is set. Older links end. Send it to the e-mail itself: a user who joined by the link of a project can be added to others afterwards.',
  run: async ({ config, need }) => {
    if (config.oidc_issuer !== undefined) throw new CommandError(`people log in at ${config.oidc_issuer}, not here`)
    const email = parseEmail(need('email'))
    const { createPasswordLinkFor } = await import('#server/oauth/accounts.ts')
    const path = await withStore(config, (db) => db.transaction((tx) => createPasswordLinkFor(tx, email)))
    const link = path && passwordLinkOf(config, path)
    if (!link) throw new CommandError(`there is no user ${email}; howdah admin user list shows them all`)
    console.log(link)
  },
}

export const userList: OperatorCommand = {
  name: 'admin user list',
  summary: 'List the users.',
  details: 'CLAIMED IN is the project by whose link a user joined, which alone vouches for their e-mail.',
  options: json_option,
  run: async ({ config, isSet }) => {
    const users = await withStore(config, (db) => listUsers(db))
    const rows = users.map(({ id, email, name, created, claimed_in }) => {
      return { id: String(id), email, name, created: created.toISOString(), claimed_in }
    })
    printRows(rows, ['id', 'email', 'name', 'created', 'claimed_in'], isSet('json'))
  },
}
