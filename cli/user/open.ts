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
  const named = input.text('service') ?? session.preferred('service')
  const page = input.text(service_pages.join('|'))
  if (page !== undefined && !service_pages.some((one) => one === page)) {
    throw new UsageError(`the pages of a service are ${service_pages.join(', ')}`)
  }
  const path =
    named === undefined
      ? `/projects/${await projectOf(context, session)}/services`
      : await serviceOf(context, session).then(
          ({ service }) => `/projects/${service.project_id}/services/${service.service_id}`,
        )
  const url = origin + path + (page === undefined ? '' : `/${page}`)
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
