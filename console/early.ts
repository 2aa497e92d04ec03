// What the page of an address asks for first, asked before the code of the page is there. The request that the page makes later gets
// this answer.
import { base_path } from '#contract/base-path.ts'
import { kept } from './keep.ts'
import { answer_ms_max, sessionFetch } from './session.ts'

export const services_per_page = 500

const asked = new Map<RequestInfo | URL, Promise<Response>>()

export function askEarly(path: string): void {
  for (const url of early(path)) {
    const answer = sessionFetch(url, { redirect: 'error', signal: AbortSignal.timeout(answer_ms_max) })
    // What takes it is told.
    answer.catch(() => undefined)
    asked.set(url, answer)
  }
}

/** Once: a second request is for something newer. */
export function takeEarly(url: RequestInfo | URL, method: string | undefined): Promise<Response> | undefined {
  if (method !== 'GET') return undefined
  const answer = asked.get(url)
  asked.delete(url)
  return answer
}

/** As the pages ask for it themselves; see routes.tsx. */
function early(path: string): string[] {
  const projects = `${base_path}/projects`
  const last = kept('project')
  const at = path === '/' && last !== undefined ? `/projects/${last}/services` : path
  const [, list, service] = /^(\/projects\/\w+\/services)(?:\/(\w+)|$)/.exec(at) ?? []
  if (list === undefined) return [projects]
  if (service === undefined) return [projects, `${base_path}${list}?limit=${services_per_page}`]
  return service === 'new' ? [projects] : [projects, `${base_path}${list}/${service}`]
}
