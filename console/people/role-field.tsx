// The roles that a user may give, in words.
import { type Role, roleAllows, roles } from '#contract/endpoint.ts'
import { useRole } from '../may.ts'
import { SelectField } from '../part/field.tsx'

const inWords: Readonly<Record<Role, string>> = {
  viewer: 'viewer: sees everything, changes nothing',
  developer: 'developer: makes and changes services',
  admin: 'admin: members, tokens, networks too',
  owner: 'owner: everything, the project’s end too',
}

/** None above the user's own. */
export function useRoles(project_id: string): readonly Role[] {
  const own = useRole(project_id)
  return own === undefined ? roles : roles.filter((role) => roleAllows(own, role))
}

type RoleProps = { project_id: string; value: Role; onChange: (role: Role) => void }

export function RoleField({ project_id, value, onChange }: RoleProps) {
  const options = useRoles(project_id).map((role) => ({ value: role, label: inWords[role] }))
  return <SelectField label="Role" value={value} options={options} onChange={onChange} />
}
