// Pages of the server itself, without the console: while there is no build of it, and where there is nothing to read.
import { markup, pageOf } from '../oauth/page.ts'

const again_seconds = 2

/** It looks again by itself. */
export function waitingPage(message: string): string {
  const page = pageOf(
    'The console is not here yet',
    markup`<p>${message}</p>
      <p class="hint">The API answers already: <a href="/docs">its documentation</a>. This page looks again by itself.</p>`,
  )
  return page.replace('<head>', `<head>\n<meta http-equiv="refresh" content="${again_seconds}">`)
}

export function missingPage(): string {
  return pageOf(
    'There is no such page',
    markup`<p>The address may be mistyped, or the page is gone.</p>
      <p><a href="/">The console</a> · <a href="/docs">The documentation</a></p>`,
  )
}
