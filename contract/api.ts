// The whole API as one table: name → endpoint. Two places make a new endpoint: a row here and its handler.
import { auth_endpoints } from './auth.ts'
import { log_endpoints } from './log.ts'
import { metric_endpoints } from './metric.ts'
import { project_endpoints } from './project.ts'
import { service_endpoints } from './service.ts'
import { snapshot_endpoints } from './snapshot.ts'

export const base_path = '/public/api/v1'

export const api = {
  ...auth_endpoints,
  ...project_endpoints,
  ...service_endpoints,
  ...snapshot_endpoints,
  ...log_endpoints,
  ...metric_endpoints,
}

export type Api = typeof api
export type EndpointName = keyof Api
