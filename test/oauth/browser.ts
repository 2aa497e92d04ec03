// A browser without scripts, for tests of the login pages: it keeps cookies as browsers do (name, path, expiry), shows
// where a page leads instead of going there by itself, and sends forms with what they hold.
export type Page = {
  status: number
  url: string
  headers: Headers
  text: string
  /** Where it leads to; undefined where it is no redirect. */
  location: string | undefined
}

export type Browser = {
  get(url: string, headers?: Readonly<Record<string, string>>): Promise<Page>
  post(url: string, fields: Readonly<Record<string, string>>, headers?: Readonly<Record<string, string>>): Promise<Page>
  /** Follows redirects as long as they stay on this origin; the page may be a redirect to elsewhere. */
  follow(page: Page): Promise<Page>
  /** Fills in and sends the page's only form, and follows. */
  submit(page: Page, fields?: Readonly<Record<string, string>>): Promise<Page>
  cookies: Map<string, Cookie>
}

export type Cookie = { name: string; value: string; path: string; attributes: string }

const redirects_max = 10

export function newBrowser(): Browser {
  const cookies = new Map<string, Cookie>()
  type Sent = { method?: 'POST'; body?: URLSearchParams; headers: Readonly<Record<string, string>> }
  const send = async (url: string, init: Sent): Promise<Page> => {
    const headers = { accept: 'text/html', cookie: cookiesFor(cookies, url), ...init.headers }
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    for (const text of response.headers.getSetCookie()) keep(cookies, text)
    const location = response.headers.get('location')
    return {
      status: response.status,
      url,
      headers: response.headers,
      text: await response.text(),
      location: location === null ? undefined : new URL(location, url).href,
    }
  }
  const browser: Browser = {
    cookies,
    get: (url, headers = {}) => send(url, { headers }),
    post: (url, fields, headers = {}) => send(url, { method: 'POST', body: new URLSearchParams(fields), headers }),
    follow: async (page) => {
      let at = page
      for (let count = 0; at.location !== undefined && sameOrigin(at.location, at.url); count += 1) {
        if (count === redirects_max) throw new Error(`redirected for ever, at last to ${at.location}`)
        at = await browser.get(at.location)
      }
      return at
    },
    submit: async (page, fields = {}) => {
      const form = formIn(page)
      return browser.follow(await browser.post(form.action, { ...form.fields, ...fields }))
    },
  }
  return browser
}

/** The page's only form, with its hidden and filled-in fields. */
export function formIn(page: Page): { action: string; fields: Record<string, string> } {
  const action = /<form[^>]* action="([^"]*)"/.exec(page.text)?.[1]
  if (action === undefined) throw new Error(`no form on ${page.url} (${page.status}): ${page.text.slice(-600)}`)
  const fields: Record<string, string> = {}
  for (const [input] of page.text.matchAll(/<input[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(input)?.[1]
    if (name !== undefined) fields[name] = /value="([^"]*)"/.exec(input)?.[1] ?? ''
  }
  return { action: new URL(action, page.url).href, fields }
}

function sameOrigin(one: string, other: string): boolean {
  return new URL(one).origin === new URL(other).origin && !new URL(one).pathname.startsWith('/console/')
}

function keep(cookies: Map<string, Cookie>, text: string): void {
  const [pair = '', ...attributes] = text.split(/; */)
  const name = pair.slice(0, pair.indexOf('='))
  const value = pair.slice(pair.indexOf('=') + 1)
  const attribute = (wanted: string) =>
    attributes.find((entry) => entry.toLowerCase().startsWith(`${wanted}=`))?.slice(wanted.length + 1)
  const path = attribute('path') ?? '/'
  const expires = attribute('expires')
  if (value === '' || (expires !== undefined && Date.parse(expires) < Date.now())) cookies.delete(`${name} ${path}`)
  else cookies.set(`${name} ${path}`, { name, value, path, attributes: attributes.join('; ') })
}

function cookiesFor(cookies: Map<string, Cookie>, url: string): string {
  const { pathname } = new URL(url)
  return [...cookies.values()]
    .filter(({ path }) => path === '/' || pathname === path || pathname.startsWith(`${path}/`))
    .map(({ name, value }) => `${name}=${value}`)
    .join('; ')
}
