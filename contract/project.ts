// Projects: the scope of services, members and tokens. The list is the spec's; the rest stands beside it.
import { endpoint } from './endpoint.ts'
import { ProjectId } from './id.ts'
import { GivenName, input, integer, moment, Name, RoleName } from './schema.ts'
import { Type } from './type.ts'

export const Project = Type.Object(
  { id: ProjectId, name: GivenName },
  { $id: 'Project', description: 'The scope of services, members and tokens.' },
)

const CallersProject = Type.Object(
  {
    id: ProjectId,
    name: GivenName,
    role: RoleName,
    created: moment('When it was made.'),
    services: integer('How many services it has.', 3),
  },
  { $id: 'CallersProject', description: 'A project, and the role that the caller has in it.' },
)

const one = '/projects/{project_id}'
const tag = 'Projects'

export const project_endpoints = {
  listProjects: endpoint({
    method: 'GET',
    path: '/projects',
    summary: 'List the projects that the caller can access',
    tag,
    access: 'caller',
    success: 200,
    output: Type.Array(CallersProject),
  }),
  createProject: endpoint({
    method: 'POST',
    path: '/projects',
    summary: 'Create a project',
    description:
      'The caller becomes its owner. A personal access token is scoped to one project and cannot make another one: log in as a user, or run `howdah admin project create` on the server.',
    tag,
    access: 'user',
    body: input({ name: Name }, { name: 'shop' }),
    faults: ['QUOTA_EXCEEDED'],
    success: 201,
    output: Project,
  }),
  renameProject: endpoint({
    method: 'POST',
    path: `${one}/rename`,
    summary: 'Rename a project',
    tag,
    access: 'admin',
    body: input({ name: Name }, { name: 'shop' }),
    success: 200,
    output: Project,
  }),
  deleteProject: endpoint({
    method: 'DELETE',
    path: one,
    summary: 'Delete an empty project',
    description:
      'Its members lose it and its tokens stop working. While it has services it stays, and the 409 names them.',
    tag,
    access: 'owner',
    faults: ['CONFLICT'],
    success: 204,
  }),
}
