// The frame of every page: rail, top bar, banner of a server that is away, palette, keys, toasts, and the end of a login.
import { Outlet, useParams, useRouterState } from '@tanstack/react-router'
import { type ComponentType, useEffect, useState } from 'react'
import { keep } from '../keep.ts'
import { useFollow } from '../live.ts'
import { onDemand } from '../part/on-demand.tsx'
import { useOfflineSince } from '../polling.ts'
import { exact } from '../part/time.tsx'
import { Toasts } from '../part/toast.tsx'
import { loginPath, onLogin } from '../session.ts'
import css from './frame.module.css'
import { type Panel, useKeys } from './keys.ts'
import { Rail } from './rail.tsx'
import { TopBar } from './top-bar.tsx'
import { noteVisit } from './visited.ts'

const Palette = onDemand(async () => (await import('./palette.tsx')).Palette)

const LoginEnded = onDemand(async () => (await import('./login-ended.tsx')).LoginEnded)

const later_ms = 500

export function Frame() {
  const [panel, setPanel] = useState<Panel>()
  const [drawer, setDrawer] = useState(false)
  const { project_id } = useParams({ strict: false })
  const path = useRouterState({ select: ({ location }) => location.pathname })
  useKeys(project_id, setPanel)
  useFollow(project_id)
  const offline = useOfflineSince()
  const [ended, setEnded] = useState<'told' | 'known'>()
  useEffect(() => onLogin((has_ended) => setEnded((before) => (has_ended ? (before ?? 'told') : undefined))), [])
  useEffect(() => {
    setDrawer(false)
    setPanel(undefined)
    scrollTo(0, 0)
    noteVisit(path)
  }, [path])
  useEffect(() => {
    if (project_id !== undefined) keep('project', project_id)
  }, [project_id])
  return (
    <div className={css['frame']}>
      <a className={css['skip']} href="#main">
        Skip to the content
      </a>
      <button
        type="button"
        aria-label="Close the menu"
        tabIndex={drawer ? 0 : -1}
        className={`${css['drawerback']} ${drawer ? css['open'] : ''}`}
        onClick={() => setDrawer(false)}
      />
      <Rail open={drawer} />
      <TopBar onFind={() => setPanel('palette')} onMenu={() => setDrawer(!drawer)} />
      <main id="main" className={css['main']} tabIndex={-1}>
        <Banner since={offline} />
        {ended === 'known' && (
          <p className={css['banner']} role="status">
            Your login has ended, and the page is as old as that. <a href={loginPath()}>Log in again</a>
          </p>
        )}
        <div className={offline === undefined ? undefined : css['old']}>
          <Outlet />
        </div>
      </main>
      {panel !== undefined && <Palette panel={panel} onClose={() => setPanel(undefined)} />}
      {ended === 'told' && <LoginEnded onClose={() => setEnded('known')} />}
      <Toasts />
      <Later />
    </div>
  )
}

/** Once the first page has been on screen for a moment. When it does not come the page does without it, and a press asks again. */
function Later() {
  const [Loaded, setLoaded] = useState<ComponentType>()
  useEffect(() => {
    const load = async () => {
      const later = await import('./later.tsx')
      setLoaded(() => later.Later)
    }
    const timer = setTimeout(() => void load().catch(() => undefined), later_ms)
    return () => clearTimeout(timer)
  }, [])
  return Loaded && <Loaded />
}

function Banner({ since }: { since: number | undefined }) {
  if (since === undefined) return null
  return (
    <p className={css['banner']} role="status">
      No connection since {exact(since, { date: false, ms: false })}, trying again. What you see is as old as that.
    </p>
  )
}
