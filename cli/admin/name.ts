// What people type for names, e-mails, roles and projects, checked by the same rules as in the API.
import { type Role, roles } from '#contract/endpoint.ts'
import { isEmail, nameProblem } from '#contract/problem.ts'
import type { Sql } from '#server/store/db.ts'
import { listProjects } from '#server/project/store.ts'
import { CommandError, UsageError } from '../command.ts'

export function parseName(text: string): string {
  const problem = nameProblem(text)
  if (problem !== undefined) throw new UsageError(`--name ${problem}`)
  return text.trim()
}

export function parseEmail(text: string): string {
  if (isEmail(text)) return text
  throw new UsageError(`${JSON.stringify(text)} does not look like an e-mail address`)
}

export function parseRole(text: string): Role {
  const role = roles.find((known) => known === text)
  if (role !== undefined) return role
  throw new UsageError(`--role: one of ${roles.join(', ')}`)
}

/** The project that was named, or the only one there is. */
export async function projectOf(sql: Sql, id: string | undefined): Promise<string> {
  const projects = await listProjects(sql)
  const known = projects.map((project) => `${project.id} (${project.name})`).join(', ') || 'none'
  if (id === undefined) {
    const [only, another] = projects
    if (only !== undefined && another === undefined) return only.id
    throw new CommandError(`say which project with --project: ${known}`)
  }
  if (projects.some((project) => project.id === id)) return id
  throw new CommandError(`there is no project ${JSON.stringify(id)}; there are: ${known}`)
}
