// The members of a project and their roles: add or invite, change a role, remove.
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { Role } from '#contract/endpoint.ts'
import type { Member } from '#contract/member.ts'
import { useMay } from '../may.ts'
import { Button, RemoveButton } from '../part/button.tsx'
import { ConfirmAct } from '../confirm-act.tsx'
import { FormDialog } from '../part/dialog.tsx'
import { TextField } from '../part/field.tsx'
import { Page, Skeleton } from '../part/layout.tsx'
import { Problem, problemAt } from '../part/problem.tsx'
import { Tag } from '../part/status.tsx'
import { Table } from '../part/table.tsx'
import { Time } from '../part/time.tsx'
import { q, useAct } from '../query.ts'
import { currentUser } from '../session.ts'
import { LoginLinkButton } from './login-link.tsx'
import css from './people.module.css'
import { RoleField, useRoles } from './role-field.tsx'

export function Members() {
  const { project_id = '' } = useParams({ strict: false })
  const { data, error, refetch } = useQuery(q('listMembers', { project_id }))
  const [adding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<Member>()
  const may = useMay(project_id)
  const actions = (
    <Button kind="primary" icon="plus" reason={may('addMember')} onPress={() => setAdding(true)}>
      Add a member
    </Button>
  )
  return (
    <Page title="Members" actions={actions}>
      <Problem error={error} onRetry={() => void refetch()} />
      {data === undefined && error === null && <Skeleton />}
      {data !== undefined && (
        <Table
          label="Members"
          rows={data}
          keyOf={({ user_id }) => user_id}
          columns={[
            {
              label: 'Name',
              cell: ({ user_id, name, joined }) => (
                <span className={css['who']}>
                  {name} {!joined && <Tag>invited</Tag>}
                  {user_id === currentUser()?.id && <Tag>you</Tag>}
                </span>
              ),
            },
            { label: 'E-mail', cell: ({ email }) => email },
            { label: 'Role', cell: (member) => <RoleSelect project_id={project_id} member={member} /> },
            { label: 'Since', cell: ({ created }) => <Time value={created} /> },
            {
              label: 'Acts',
              end: true,
              cell: (member) => (
                <>
                  {!member.joined && <LoginLinkButton project_id={project_id} member={member} />}
                  <RemoveButton
                    label={`Remove ${member.name}`}
                    reason={may('removeMember')}
                    onPress={() => setRemoving(member)}
                  />
                </>
              ),
            },
          ]}
        />
      )}
      {adding && <AddMember project_id={project_id} onClose={() => setAdding(false)} />}
      {removing !== undefined && (
        <RemoveMember project_id={project_id} member={removing} onClose={() => setRemoving(undefined)} />
      )}
    </Page>
  )
}

function RoleSelect({ project_id, member }: { project_id: string; member: Member }) {
  const { mutate, error } = useAct('setMemberRole')
  const may = useMay(project_id)
  const allowed = useRoles(project_id)
  const reason = may('setMemberRole') ?? (allowed.includes(member.role) ? undefined : 'a higher role than yours')
  return (
    <>
      {reason === undefined ? (
        <select
          className={css['select']}
          aria-label={`Role of ${member.name}`}
          value={member.role}
          // Only the values of the options can be chosen.
          onChange={(event) =>
            mutate({ project_id, user_id: member.user_id, body: { role: event.target.value as Role } })
          }
        >
          {allowed.map((role) => (
            <option key={role}>{role}</option>
          ))}
        </select>
      ) : (
        <span title={reason}>{member.role}</span>
      )}
      <Problem error={error} />
    </>
  )
}

function AddMember({ project_id, onClose }: { project_id: string; onClose: () => void }) {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('developer')
  const { mutate, isPending, error } = useAct('addMember')
  return (
    <FormDialog
      title="Add a member"
      onClose={onClose}
      submit="Add"
      pending={isPending}
      error={error}
      shown_elsewhere={['/email']}
      reason={email.includes('@') ? undefined : 'it needs an e-mail address'}
      onSubmit={() => mutate({ project_id, body: { email, role } }, { onSuccess: onClose })}
    >
      <TextField
        label="E-mail"
        type="email"
        value={email}
        onChange={setEmail}
        problem={problemAt(error, '/email')}
        hint="A known address is that user. An unknown one is invited: the user who logs in with it is a member."
        autoComplete="off"
      />
      <RoleField project_id={project_id} value={role} onChange={setRole} />
    </FormDialog>
  )
}

function RemoveMember({ project_id, member, onClose }: { project_id: string; member: Member; onClose: () => void }) {
  return (
    <ConfirmAct
      act="removeMember"
      input={{ project_id, user_id: member.user_id }}
      confirmation={{
        title: `Remove ${member.name}?`,
        button: 'Remove',
        lines: ['They lose the project at once.', 'The tokens that they issued in this project stop working.'],
      }}
      onClose={onClose}
    />
  )
}
