// The link with which an invited member chooses a password, without a shell on the server. It is as good as the
// member's password, so it is made, and works, only for a user who has not logged in yet and whom no other project knows: else an
// administrator of one project could log in as a member of another. It proves nothing about the e-mail, so other projects add no user who
// joined by it.
import { api } from '#contract/api.ts'
import { Fault } from '#contract/fault.ts'
import type { Handlers } from '../http/handler.ts'
import { lockProjectFor } from '../identity/permission.ts'
import { getMember } from '../member/routes.ts'
import { refuseMemberAbove } from '../member/rules.ts'
import { countOtherProjects } from '../member/store.ts'
import type { Db } from '../store/db.ts'
import { createPasswordLink, link_hours } from './accounts.ts'

type Parts = { db: Db; origin: () => string; /** People log in here, with a password. */ has_passwords: boolean }

export function loginLinkHandlers({ db, origin, has_passwords }: Parts): Pick<Handlers, 'createLoginLink'> {
  return {
    createLoginLink: ({ params, caller }) =>
      db.transaction(async (tx) => {
        const { project_id } = params
        const own = await lockProjectFor(tx, project_id, caller, api.createLoginLink.access)
        const member = await getMember(tx, params)
        refuseMemberAbove(own, member)
        if (!has_passwords)
          throw new Fault('CONFLICT', 'people log in at an outside issuer here; there is no password to choose')
        if (member.joined_at !== null) {
          throw new Fault('CONFLICT', 'this member has logged in before; a lost password is set anew on the server')
        }
        if ((await countOtherProjects(tx, project_id, member.user_id)) > 0) {
          throw new Fault(
            'CONFLICT',
            'this user belongs to other projects too; ask the operator of the server for a link',
          )
        }
        if (member.disabled_at !== null)
          throw new Fault('CONFLICT', 'the operator of the server has disabled this user')
        const expires_at = new Date(Date.now() + link_hours * 60 * 60 * 1000).toISOString()
        return { url: origin() + (await createPasswordLink(tx, member.user_id, project_id)), expires_at }
      }),
  }
}
