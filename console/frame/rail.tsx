// The rail at the left: the project, and the pages of it.
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { kept } from '../keep.ts'
import { Icon, type IconName } from '../part/icon.tsx'
import { Menu } from '../part/menu.tsx'
import { paths } from '../paths.ts'
import { q } from '../query.ts'
import css from './frame.module.css'

type Place = { text: string; icon: IconName; to: string }

export function useProjectId(): string | undefined {
  const { project_id } = useParams({ strict: false })
  return project_id ?? kept('project')
}

export function placesOf(project_id: string | undefined): Place[] {
  const general: Place[] = [{ text: 'Installation', icon: 'installation', to: paths.installation() }]
  if (project_id === undefined) return general
  return [
    { text: 'Services', icon: 'services', to: paths.services(project_id) },
    { text: 'Networks', icon: 'networks', to: paths.networks(project_id) },
    { text: 'Activity', icon: 'clock', to: paths.activity(project_id) },
    { text: 'Members', icon: 'members', to: paths.members(project_id) },
    { text: 'Tokens', icon: 'tokens', to: paths.tokens(project_id) },
    { text: 'Audit', icon: 'audit', to: paths.audit(project_id) },
    { text: 'Project settings', icon: 'settings', to: paths.settings(project_id) },
    ...general,
  ]
}

/** That of favicon.svg, drawn with the page: a picture of its own is a document of its own to the browser. */
const Mark = () => (
  <svg viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="7" fill="#0b57a4" />
    <path
      d="M7 13h18M9 13V9l7-3 7 3v4M10 13v6M22 13v6M6 19h20l-2 6H8z"
      fill="none"
      stroke="#fff"
      strokeWidth="2.2"
      strokeLinejoin="round"
      strokeLinecap="round"
    />
  </svg>
)

export function Rail({ open }: { open: boolean }) {
  const places = placesOf(useProjectId())
  return (
    <aside aria-label="Howdah" className={`${css['rail']} ${open ? css['open'] : ''}`}>
      <div className={css['railin']}>
        <Link to="/" className={css['brand']}>
          <Mark />
          Howdah
        </Link>
        <div className={css['project']}>
          <ProjectSwitcher />
        </div>
        <nav aria-label="Pages" className={css['links']}>
          {places.map(({ text, icon, to }) => (
            <Link key={to} to={to} activeOptions={{ includeSearch: false }} activeProps={{ 'aria-current': 'page' }}>
              <Icon name={icon} />
              {text}
            </Link>
          ))}
        </nav>
      </div>
    </aside>
  )
}

function ProjectSwitcher() {
  const project_id = useProjectId()
  const { data: projects = [] } = useQuery(q('listProjects', {}))
  const navigate = useNavigate()
  const current = projects.find(({ id }) => id === project_id)
  const acts = projects.map(({ id, name }) => ({ label: name, run: () => void navigate({ to: paths.services(id) }) }))
  const all = { label: 'All projects …', run: () => void navigate({ to: paths.projects() }) }
  return (
    <Menu
      trigger={
        <button type="button">
          <span>{current?.name ?? 'Choose a project'}</span>
          <Icon name="down" />
        </button>
      }
      groups={[acts, [all]]}
    />
  )
}
