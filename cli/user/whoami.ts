// howdah whoami: who is logged in here, as the server sees it right now.
import { type Context, formatOf } from './context.ts'
import { printAnswer } from './output.ts'

export async function runWhoami(context: Context): Promise<void> {
  const { terminal } = context
  const session = await context.session()
  const info = await session.client.getAuthInfo({})
  const format = formatOf(context, session)
  if (format !== 'table') return printAnswer(terminal, info, { format, columns: [], is_read: true })
  const user = info.oauth?.user ?? info.api_key?.issuing_user
  const by = info.api_key === undefined ? '' : `, by the token ${info.api_key.public_key} (${info.api_key.name})`
  terminal.print(`${user?.name} <${user?.email}> at ${new URL(session.api_url).origin}${by}`)
}
