// Starts the console: a login first, then the router over the queries.
import './style/tokens.css'
import './style/base.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { Tooltip } from '@base-ui/react/tooltip'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { queries } from './query.ts'
import { router } from './routes.tsx'
import { getSession, loginPath } from './session.ts'

const again_ms = 2_000

await start()

async function start(): Promise<void> {
  const asked = getSession().catch(() => 'unreachable' as const)
  // The code of the page, and what it asks for, is on its way meanwhile: requests wait for the login by themselves.
  void router.load()
  const session = await asked
  if (session === undefined) location.replace(loginPath())
  else if (session === 'unreachable') setTimeout(() => location.reload(), again_ms)
  else render()
}

function render(): void {
  const root = document.getElementById('root')
  if (root === null) return
  createRoot(root).render(
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <Tooltip.Provider delay={300}>
          <RouterProvider router={router} />
        </Tooltip.Provider>
      </QueryClientProvider>
    </CSPProvider>,
  )
}
