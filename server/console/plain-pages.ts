// What stands at the console's address while there is no build of it: plain, and it looks again by itself.
import { markup, pageOf } from '../oauth/page.ts'

const again_seconds = 2

export function waitingPage(message: string): string {
  const page = pageOf(
    'The console is not here yet',
    markup`<p>${message}</p>
      <p class="hint">The API answers already: <a href="/docs">its documentation</a>. This page looks again by itself.</p>`,
  )
  return page.replace('<head>', `<head>\n<meta http-equiv="refresh" content="${again_seconds}">`)
}
