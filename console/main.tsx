// Starts the console: a login first, then the router over the queries.
import './style/tokens.css'
import './style/base.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { q, queries } from './query.ts'
import { newRouter } from './routes.tsx'
import { getSession, loginPath } from './session.ts'

const again_ms = 2_000
/** A page that is there sooner is drawn once, and whole. */
const whole_ms = 150

export async function start(): Promise<void> {
  const router = newRouter()
  const asked = getSession().catch(() => 'unreachable' as const)
  // What the page and the frame ask for is on its way meanwhile: requests wait for the login by themselves.
  const loaded = Promise.all([router.load(), queries.prefetchQuery(q('listProjects', {}))])
  const session = await asked
  if (session === undefined) location.replace(loginPath())
  else if (session === 'unreachable') setTimeout(() => location.reload(), again_ms)
  else {
    await Promise.race([loaded, new Promise((resolve) => setTimeout(resolve, whole_ms))])
    render(router)
  }
}

function render(router: ReturnType<typeof newRouter>): void {
  const root = document.getElementById('root')
  if (root === null) return
  createRoot(root).render(
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </CSPProvider>,
  )
}
