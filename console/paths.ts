// Every address of the console, built in one place. They mirror the paths of the API.
import { service_pages } from '#contract/console-page.ts'

export const service_tabs = ['overview', ...service_pages] as const
export type ServiceTab = (typeof service_tabs)[number]

export const paths = {
  projects: () => '/projects',
  services: (project_id: string) => `/projects/${project_id}/services`,
  newService: (project_id: string) => `/projects/${project_id}/services/new`,
  service: (project_id: string, service_id: string, tab: ServiceTab = 'overview') =>
    `/projects/${project_id}/services/${service_id}${tab === 'overview' ? '' : `/${tab}`}`,
  networks: (project_id: string) => `/projects/${project_id}/networks`,
  vpc: (project_id: string, vpc_id: string) => `/projects/${project_id}/networks/${vpc_id}`,
  activity: (project_id: string) => `/projects/${project_id}/activity`,
  members: (project_id: string) => `/projects/${project_id}/members`,
  tokens: (project_id: string) => `/projects/${project_id}/tokens`,
  audit: (project_id: string) => `/projects/${project_id}/audit`,
  settings: (project_id: string) => `/projects/${project_id}/settings`,
  account: () => '/account',
  installation: () => '/installation',
}
