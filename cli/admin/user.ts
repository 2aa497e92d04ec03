// howdah admin user create | reset-password | disable | enable | list. A user is who a token acts for; what they may do is their role in each project.
import { insertOperatorAct, insertOperatorActOnUser } from '#server/audit/operator.ts'
import { findUserByEmail, insertUser, listUsers, saveDisabled, type UserRow } from '#server/identity/store.ts'
import { insertMember, listProjectsOfLastOwner } from '#server/member/store.ts'
import type { Sql } from '#server/store/db.ts'
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
        await insertOperatorAct(tx, 'addMember', { project_id, resource_id: String(made.id) })
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
    const { createPasswordLink } = await import('#server/oauth/accounts.ts')
    const path = await withStore(config, (db) =>
      db.transaction(async (tx) => {
        const { id, disabled_at } = await getUser(tx, email)
        if (disabled_at !== null)
          throw new CommandError(`${email} is disabled; first: howdah admin user enable ${email}`)
        await insertOperatorActOnUser(tx, 'resetPassword', id)
        return createPasswordLink(tx, id)
      }),
    )
    console.log(passwordLinkOf(config, path))
  },
}

export const userDisable: OperatorCommand = {
  name: 'admin user disable',
  summary: 'Shut a user out: their logins end, and their tokens are refused, in all projects.',
  positionals: required('email'),
  details:
    'It holds within three seconds, on every server. Their memberships, projects and services stay as they are, and so do the passwords of databases that they know.',
  run: async ({ config, need }) => {
    const email = parseEmail(need('email'))
    const { disableUser } = await import('#server/oauth/accounts.ts')
    const projects = await withStore(config, (db) =>
      db.transaction(async (tx) => {
        const { id } = await getUser(tx, email)
        await disableUser(tx, id)
        await insertOperatorActOnUser(tx, 'disableUser', id)
        return await listProjectsOfLastOwner(tx, id)
      }),
    )
    console.log(`User ${email} is disabled.`)
    for (const { id, name } of projects) {
      console.error(
        `Warning: no owner of project ${id} (${name}) can act now; howdah admin user create --project ${id} --role owner makes one.`,
      )
    }
  },
}

export const userEnable: OperatorCommand = {
  name: 'admin user enable',
  summary: 'Let a disabled user in again.',
  positionals: required('email'),
  details: 'They log in anew; their tokens work again.',
  run: async ({ config, need }) => {
    const email = parseEmail(need('email'))
    await withStore(config, (db) =>
      db.transaction(async (tx) => {
        const { id } = await getUser(tx, email)
        await saveDisabled(tx, id, false)
        await insertOperatorActOnUser(tx, 'enableUser', id)
      }),
    )
    console.log(`User ${email} is enabled.`)
  },
}

export const userList: OperatorCommand = {
  name: 'admin user list',
  summary: 'List the users.',
  details: 'CLAIMED IN is the project by whose link a user joined, which alone vouches for their e-mail.',
  options: json_option,
  run: async ({ config, isSet }) => {
    const users = await withStore(config, (db) => listUsers(db))
    const rows = users.map(({ id, email, name, created, claimed_in, disabled_at }) => {
      const disabled = disabled_at?.toISOString() ?? null
      return { id: String(id), email, name, created: created.toISOString(), claimed_in, disabled_at: disabled }
    })
    printRows(rows, ['id', 'email', 'name', 'created', 'claimed_in', 'disabled_at'], isSet('json'))
  },
}

async function getUser(sql: Sql, email: string): Promise<UserRow> {
  const user = await findUserByEmail(sql, email)
  if (user === undefined) throw new CommandError(`there is no user ${email}; howdah admin user list shows them all`)
  return user
}
