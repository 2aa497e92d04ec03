// The bar at the top: where this is, the palette, whether the page is live and of this server, the theme, the account.
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useLive, useOfflineSince, useOtherVersion } from '../polling.ts'
import { Button } from '../part/button.tsx'
import { Icon } from '../part/icon.tsx'
import { Menu } from '../part/menu.tsx'
import { paths } from '../paths.ts'
import { q } from '../query.ts'
import { currentUser, logout } from '../session.ts'
import css from './frame.module.css'
import { nextTheme, themeInWords, useTheme } from './theme.ts'

export function TopBar({ onFind, onMenu }: { onFind: () => void; onMenu: () => void }) {
  const [theme, setTheme] = useTheme()
  const navigate = useNavigate()
  const account = { label: 'Account', run: () => void navigate({ to: paths.account() }) }
  const docs = { label: 'Documentation', run: () => location.assign('/docs') }
  return (
    <header className={css['top']}>
      <span className={css['burger']}>
        <Button kind="quiet" icon="menu" label="Menu" onPress={onMenu} />
      </span>
      <Crumbs />
      <OtherVersion />
      <LiveMark />
      <button type="button" className={css['find']} onClick={onFind}>
        <Icon name="search" />
        <span>Find and act</span>
        <kbd aria-hidden="true">Ctrl K</kbd>
      </button>
      <Button kind="quiet" icon="theme" label={themeInWords(theme)} onPress={() => setTheme(nextTheme(theme))} />
      <Menu
        trigger={
          <button type="button" className={css['find']} aria-label="Account">
            <Icon name="account" />
          </button>
        }
        groups={[
          [{ label: currentUser()?.email ?? '', reason: 'logged in', run: () => undefined }],
          [account, docs],
          [{ label: 'Log out', run: () => void logout() }],
        ]}
      />
    </header>
  )
}

function Crumbs() {
  const { project_id, service_id } = useParams({ strict: false })
  const { data: projects } = useQuery(q('listProjects', {}))
  const project = projects?.find(({ id }) => id === project_id)
  const at = { project_id: project_id ?? '', service_id: service_id ?? '' }
  const { data: service } = useQuery({
    ...q('getService', at),
    enabled: project_id !== undefined && service_id !== undefined,
  })
  return (
    <nav className={css['crumbs']} aria-label="Where this is">
      {project !== undefined && <Link to={paths.services(project.id)}>{project.name}</Link>}
      {project !== undefined && service !== undefined && <span aria-hidden="true">/</span>}
      {project !== undefined && service !== undefined && (
        <Link to={paths.service(project.id, service.service_id)}>{service.name}</Link>
      )}
    </nav>
  )
}

/** The server was changed under an open page. */
function OtherVersion() {
  const version = useOtherVersion()
  return (
    <span role="status">
      {version !== undefined && (
        <Button small onPress={() => location.reload()}>
          Reload for {version}
        </Button>
      )}
    </span>
  )
}

/** Of the project on screen. */
function LiveMark() {
  const { project_id } = useParams({ strict: false })
  const offline = useOfflineSince() !== undefined
  const live = useLive()
  if (project_id === undefined && !offline) return null
  const text = offline ? 'reconnecting' : live ? 'live' : 'polling'
  return (
    <span className={`${css['live']} ${offline ? css['away'] : ''}`} role="status" aria-label={text}>
      <span>{text}</span>
    </span>
  )
}
