// The pages by their addresses. A page's code is loaded with its first visit, and what it shows before it is painted.
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  notFound,
  redirect,
} from '@tanstack/react-router'
import { Fault } from '#contract/fault.ts'
import { Frame } from './frame/frame.tsx'
import { Failure } from './frame/failure.tsx'
import { kept } from './keep.ts'
import { Skeleton } from './part/layout.tsx'
import { paths } from './paths.ts'
import { q, queries } from './query.ts'
import { Services } from './services/services.tsx'
import { listedService, servicePages } from './service-list.ts'
import { parseSearch, type Search, stringifySearch } from './search.ts'

const root = createRootRoute({ component: Frame, errorComponent: Failure, notFoundComponent: () => <Failure /> })

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: async () => {
    const projects = await queries.ensureQueryData(q('listProjects', {}))
    const last = projects.find(({ id }) => id === kept('project')) ?? projects[0]
    throw redirect({ to: last === undefined ? paths.projects() : paths.services(last.id) })
  },
})

const projects = createRoute({
  getParentRoute: () => root,
  path: '/projects',
  loader: () => queries.ensureQueryData(q('listProjects', {})),
  component: lazyRouteComponent(() => import('./project/projects.tsx'), 'Projects'),
})

const project = createRoute({
  getParentRoute: () => root,
  path: '/projects/$project_id',
  validateSearch: (search: Record<string, unknown>): Search => search as Search, // parseSearch made it
  component: Outlet,
})

const services = createRoute({
  getParentRoute: () => project,
  path: '/services',
  loader: ({ params: { project_id } }) => queries.ensureInfiniteQueryData(servicePages(project_id)),
  component: Services,
})

const newService = createRoute({
  getParentRoute: () => project,
  path: '/services/new',
  loader: () => queries.ensureQueryData(q('getCapabilities', {})),
  component: lazyRouteComponent(() => import('./services/create.tsx'), 'CreateService'),
})

const service = createRoute({
  getParentRoute: () => project,
  path: '/services/$service_id',
  loader: ({ params }) =>
    queries
      .ensureQueryData({ ...q('getService', params), ...listedService(params.project_id, params.service_id) })
      .catch(missing),
  component: lazyRouteComponent(() => import('./service/frame.tsx'), 'ServiceFrame'),
})

const ofService = { getParentRoute: () => service }
const tabs = [
  createRoute({
    ...ofService,
    path: '/',
    component: lazyRouteComponent(() => import('./service/overview.tsx'), 'Overview'),
  }),
  createRoute({
    ...ofService,
    path: '/connect',
    component: lazyRouteComponent(() => import('./service/connect.tsx'), 'Connect'),
  }),
  createRoute({ ...ofService, path: '/sql', component: lazyRouteComponent(() => import('./sql/sql.tsx'), 'Sql') }),
  createRoute({
    ...ofService,
    path: '/metrics',
    component: lazyRouteComponent(() => import('./metrics/metrics.tsx'), 'Metrics'),
  }),
  createRoute({ ...ofService, path: '/logs', component: lazyRouteComponent(() => import('./logs/logs.tsx'), 'Logs') }),
  createRoute({
    ...ofService,
    path: '/forks',
    component: lazyRouteComponent(() => import('./forks/forks.tsx'), 'Forks'),
  }),
  createRoute({
    ...ofService,
    path: '/replicas',
    component: lazyRouteComponent(() => import('./replicas/replicas.tsx'), 'Replicas'),
  }),
  createRoute({
    ...ofService,
    path: '/network',
    component: lazyRouteComponent(() => import('./networks/service-network.tsx'), 'ServiceNetwork'),
  }),
  createRoute({
    ...ofService,
    path: '/events',
    component: lazyRouteComponent(() => import('./service/events.tsx'), 'Events'),
  }),
  createRoute({
    ...ofService,
    path: '/settings',
    component: lazyRouteComponent(() => import('./service/settings.tsx'), 'ServiceSettings'),
  }),
]

const ofProject = { getParentRoute: () => project }
const others = [
  createRoute({
    ...ofProject,
    path: '/networks',
    component: lazyRouteComponent(() => import('./networks/networks.tsx'), 'Networks'),
  }),
  createRoute({
    ...ofProject,
    path: '/networks/$vpc_id',
    component: lazyRouteComponent(() => import('./networks/vpc.tsx'), 'VpcPage'),
  }),
  createRoute({
    ...ofProject,
    path: '/activity',
    component: lazyRouteComponent(() => import('./people/activity.tsx'), 'Activity'),
  }),
  createRoute({
    ...ofProject,
    path: '/members',
    component: lazyRouteComponent(() => import('./people/members.tsx'), 'Members'),
  }),
  createRoute({
    ...ofProject,
    path: '/tokens',
    component: lazyRouteComponent(() => import('./people/tokens.tsx'), 'Tokens'),
  }),
  createRoute({
    ...ofProject,
    path: '/audit',
    component: lazyRouteComponent(() => import('./people/audit-trail.tsx'), 'Audit'),
  }),
  createRoute({
    ...ofProject,
    path: '/settings',
    component: lazyRouteComponent(() => import('./project/settings.tsx'), 'ProjectSettings'),
  }),
]

const account = createRoute({
  getParentRoute: () => root,
  path: '/account',
  component: lazyRouteComponent(() => import('./account/account.tsx'), 'Account'),
})

const installation = createRoute({
  getParentRoute: () => root,
  path: '/installation',
  loader: () => queries.ensureQueryData(q('getCapabilities', {})),
  component: lazyRouteComponent(() => import('./account/installation.tsx'), 'Installation'),
})

/** A thing that does not exist is a page that does not exist. */
function missing(error: unknown): never {
  throw error instanceof Fault && error.code === 'NOT_FOUND' ? notFound() : error
}

export const newRouter = () =>
  createRouter({
    routeTree: root.addChildren([
      home,
      projects,
      project.addChildren([services, newService, service.addChildren(tabs), ...others]),
      account,
      installation,
    ]),
    parseSearch,
    stringifySearch,
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0,
    defaultPendingMs: 150,
    defaultPendingComponent: Skeleton,
    defaultErrorComponent: Failure,
    defaultNotFoundComponent: () => <Failure />,
  })
