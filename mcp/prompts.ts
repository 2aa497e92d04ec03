// Ways of working that a user can start by name: each is a text that tells an agent which tools to use in which order. Pure.
import { Fault } from '#contract/fault.ts'

type Argument = { name: string; description: string; required: boolean }
type Prompt = {
  name: string
  description: string
  arguments: Argument[]
  text: (args: Record<string, string>) => string
}

const service: Argument = { name: 'service', description: 'Id or exact name of the service.', required: true }

const prompts: readonly Prompt[] = [
  {
    name: 'diagnose',
    description: 'Find out what is wrong with a service',
    arguments: [service],
    text: (given) =>
      `Find out what is wrong with the service ${given['service']}. Begin with diagnose_service; then search_logs, top_statements, explain and list_tables as needed. Say what you saw, what it means, and what you would change. Change nothing.`,
  },
  {
    name: 'restore-to',
    description: 'Find the moment before data was lost, and fork the service there',
    arguments: [service, { name: 'lost', description: 'The lost data, and when about.', required: true }],
    text: (given) =>
      `In the service ${given['service']} this was lost: ${given['lost']}. Read get_restorable and search_logs to find the last moment before it. Say the moment and why; after the user agrees, fork_service with fork_strategy PITR and that target_time, and check there with run_sql that the data is whole. Leave the service itself as it is.`,
  },
  {
    name: 'safe-migration',
    description: 'Try a migration on a fork before it is run',
    arguments: [service, { name: 'migration', description: 'The statements.', required: true }],
    text: (given) =>
      `Prepare this migration of the service ${given['service']}:\n${given['migration']}\nFirst describe_schema; then fork_service with fork_strategy NOW, run each statement there with run_sql in mode write, and compare schema, row counts and plans. Report how long each took and what it locked. Delete the fork. Run it on the service itself only after the user has read that and agreed.`,
  },
  {
    name: 'preview-database',
    description: 'Make a copy of a service for a branch of work',
    arguments: [service, { name: 'branch', description: 'What it is for.', required: true }],
    text: (given) =>
      `Make a preview database of the service ${given['service']} for ${given['branch']}: fork_service with fork_strategy LAST_SNAPSHOT, the name of that branch and environment_tag DEV. Wait until it is READY and answer get_connection of it. Remind the user to delete it when the branch is merged.`,
  },
]

export const listPrompts = () =>
  prompts.map(({ name, description, arguments: given }) => ({ name, description, arguments: given }))

export function promptOf(name: string, args: Record<string, string> = {}) {
  const prompt = prompts.find((one) => one.name === name)
  if (prompt === undefined) throw new Fault('NOT_FOUND', `there is no prompt called ${name}`)
  const missing = prompt.arguments.filter((one) => one.required && !args[one.name]).map((one) => one.name)
  if (missing.length > 0) throw new Fault('INVALID_REQUEST', `say also: ${missing.join(', ')}`)
  const content = { type: 'text' as const, text: prompt.text(args) }
  return { description: prompt.description, messages: [{ role: 'user' as const, content }] }
}
