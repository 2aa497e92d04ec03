// howdah mcp: an agent on this machine, with the login of its user.
import { messageOf } from '../visible.ts'
import { connectionOf } from '#contract/connection.ts'
import { CommandError, UsageError } from '../command.ts'
import { type Context, projectOf } from './context.ts'
import { pgpassFile, savePassword } from './pgpass.ts'

export async function runMcp(context: Context): Promise<void> {
  const { input, around } = context
  const session = await context.session('mcp')
  if (input.isSet('read-only') && input.isSet('write')) throw new UsageError('either --read-only or --write')
  const more_tools = input.texts('tools').flatMap((names) => names.split(','))
  const { unknownTools } = await import('#mcp/tools.ts')
  const unknown = unknownTools(more_tools)
  if (unknown.length > 0) throw new UsageError(`--tools: there is no endpoint called ${unknown.join(', ')}`)
  const names_project = input.isSet('project') || session.preferred('project') !== undefined
  const project_id = names_project ? await projectOf(context, session) : undefined
  const [{ serveOverStdio }, { readDocs }] = await Promise.all([import('#mcp/stdio.ts'), import('#mcp/docs.ts')])
  await serveOverStdio({
    version: around.version,
    more_tools,
    explain: (error) => (error instanceof CommandError ? error.message : undefined),
    world: {
      client: session.client,
      project_id,
      writes: input.isSet('write'),
      prod_writes: input.isSet('allow-prod-writes'),
      docs: readDocs,
      keepPassword: async (service) => {
        const connection = connectionOf(service)
        if (connection === undefined || service.initial_password === undefined) return ''
        try {
          await savePassword(connection, service.initial_password)
          return `Its password is in ${pgpassFile()}, where psql and drivers find it.`
        } catch (error) {
          const reason = messageOf(error)
          return `It was made, but its password is not kept: ${reason}. Its user sets a new one: howdah service reset-password ${service.service_id}`
        }
      },
    },
  })
}
