// The head of a service and its tabs: what it is called, whether it is well, and what can be done with it.
import { useSuspenseQuery } from '@tanstack/react-query'
import { Link, Outlet, useParams, useRouterState } from '@tanstack/react-router'
import { Fault } from '#contract/fault.ts'
import type { Service } from '#contract/service.ts'
import { useOffered } from '../actions.ts'
import { Failure } from '../frame/failure.tsx'
import { useMay } from '../may.ts'
import { Button, ButtonLink, iconTrigger } from '../part/button.tsx'
import { CopyText } from '../part/copy.tsx'
import { layout, usePageTitle } from '../part/layout.tsx'
import { Menu } from '../part/menu.tsx'
import { Note } from '../part/problem.tsx'
import { Env, Status } from '../part/status.tsx'
import { Tabs } from '../part/tabs.tsx'
import { Time, Up } from '../part/time.tsx'
import { paths, type ServiceTab, service_tabs } from '../paths.ts'
import { q } from '../query.ts'
import { useServiceActs } from './acts.tsx'
import css from './frame.module.css'
import { PasswordPanel } from './password-panel.tsx'
import { beginRename, useRename } from './rename.tsx'

function useServiceQuery() {
  const { project_id = '', service_id = '' } = useParams({ strict: false })
  return useSuspenseQuery(q('getService', { project_id, service_id }))
}

/** Of the service in the address. */
export const useService = (): Service => useServiceQuery().data

/** A service that was removed meanwhile has no last known status to show. */
export function ServiceFrame() {
  const { data, error } = useServiceQuery()
  return error instanceof Fault && error.code === 'NOT_FOUND' ? <Failure error={error} /> : <Whole service={data} />
}

function Whole({ service }: { service: Service }) {
  const { project_id, service_id } = service
  const { groups, fork, start, stop, dialog } = useServiceActs(service)
  useOffered(groups.flat())
  const main = service.status === 'PAUSED' ? start : stop
  return (
    <>
      <div className={css['head']}>
        <Head service={service}>
          <ButtonLink kind="primary" to={paths.service(project_id, service_id, 'connect')}>
            Connect
          </ButtonLink>
          <Button icon="fork" reason={fork.reason} onPress={fork.run}>
            Fork
          </Button>
          <Button reason={main.reason} onPress={main.run}>
            {main.label}
          </Button>
          <Menu trigger={iconTrigger('More acts')} groups={groups} />
        </Head>
        <Tabs
          label="Parts of the service"
          tabs={service_tabs.map((tab) => ({
            to: paths.service(project_id, service_id, tab),
            text: tabInWords(tab),
          }))}
        />
      </div>
      {/* What a page has of one service, such as how far it was scrolled, is not that of the next. */}
      <div className={css['body']} key={service_id}>
        {service.status_reason !== undefined && (
          <Note warn={service.status === 'UNSTABLE'}>It waits for: {service.status_reason}</Note>
        )}
        <PasswordPanel service={service} />
        <Outlet />
      </div>
      {dialog}
    </>
  )
}

const tabInWords = (tab: ServiceTab) => (tab === 'sql' ? 'SQL' : tab.charAt(0).toUpperCase() + tab.slice(1))

/** Of the page that is shown; a page that is still being loaded is not shown yet. */
function useTab(): ServiceTab {
  const path = useRouterState({ select: ({ location, resolvedLocation }) => (resolvedLocation ?? location).pathname })
  return service_tabs.find((tab) => path.endsWith(`/${tab}`)) ?? 'overview'
}

function Head({ service, children }: { service: Service; children: React.ReactNode }) {
  const tab = useTab()
  const head = usePageTitle(service.name, tab === 'overview' ? undefined : tabInWords(tab), service.service_id)
  const field = useRename(service, head)
  const { forked_from, project_id } = service
  return (
    <div className={css['who']}>
      <div className={css['line']}>
        <h1 ref={head} tabIndex={-1} className={field && layout['hidden']}>
          {service.name}
        </h1>
        {field ?? <RenameButton service={service} />}
        <Env environment={service.metadata.environment} />
        <span role="status" aria-live="polite">
          <Status status={service.status} />
        </span>
        <div className={css['acts']}>{children}</div>
      </div>
      <div className={css['marks']}>
        <CopyText text={service.service_id} what="id" />
        <span>
          {service.region_code}
          {service.postgres_version === undefined ? '' : ` · PostgreSQL ${service.postgres_version}`}
        </span>
        {service.running_since !== undefined && <Up since={service.running_since} />}
        <span>
          created <Time value={service.created} />
        </span>
        {forked_from !== undefined && (
          <span>
            {forked_from.is_standby ? 'follows ' : 'fork of '}
            <Link to={paths.service(project_id, forked_from.service_id)}>{forked_from.service_id}</Link>
          </span>
        )}
      </div>
    </div>
  )
}

function RenameButton({ service: { project_id, service_id, status } }: { service: Service }) {
  const may = useMay(project_id, status)
  const reason = may('renameService')
  return (
    <Button
      small
      kind="quiet"
      icon="edit"
      label="Rename this service"
      reason={reason}
      onPress={() => beginRename(service_id)}
    />
  )
}
