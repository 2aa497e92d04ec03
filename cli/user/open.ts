// howdah open: the console in a browser, whose addresses are the paths of the API.
import { spawn } from 'node:child_process'
import { service_pages } from '#contract/console-page.ts'
import { UsageError } from '../command.ts'
import { type Context, projectOf } from './context.ts'
import { serviceOf } from './service-access.ts'

/** Without a service: the services of the project. */
export async function runOpen(context: Context): Promise<void> {
  const { input, terminal } = context
  const session = await context.session()
  const { origin } = new URL(session.api_url)
  const last = input.text(service_pages.join('|'))
  const is_page = service_pages.some((one) => one === last)
  const first = input.text('service')
  if (first !== undefined && last !== undefined && !is_page) {
    throw new UsageError(`the pages of a service are ${service_pages.join(', ')}`)
  }
  // A word alone is a page of the service that was chosen beforehand, or else a service.
  const word = first ?? (is_page ? undefined : last)
  const page = is_page ? last : undefined
  const named = word ?? session.preferred('service')
  const text = (name: string) => (name === 'service' ? word : input.text(name))
  const needs_service = named !== undefined || page !== undefined
  const service = needs_service ? await serviceOf({ ...context, input: { ...input, text } }, session) : undefined
  const project_id = service?.project_id ?? (await projectOf(context, session))
  const parts = ['projects', project_id, 'services', service?.service_id, page].filter((part) => part !== undefined)
  const url = `${origin}/${parts.join('/')}`
  terminal.print(url)
  openInBrowser(url)
}

/** Where there is a desktop. It only helps: the address has been printed. */
export function openInBrowser(url: string): void {
  if (!process.env['DISPLAY'] && !process.env['WAYLAND_DISPLAY']) return
  const child = spawn('xdg-open', [url], { stdio: 'ignore', detached: true })
  child.on('error', () => undefined)
  child.unref()
}
