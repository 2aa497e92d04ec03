// Projects, as far as the spec shows them.
import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'

export const Project = Type.Object({ id: Type.String(), name: Type.String() }, { $id: 'Project' })

export const project_endpoints = {
  listProjects: endpoint({
    method: 'GET',
    path: '/projects',
    summary: 'List the projects that the caller can access',
    tag: 'Projects',
    access: 'caller',
    success: 200,
    output: Type.Array(Project),
  }),
}
