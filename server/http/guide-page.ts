// The pages around the guides: the list of them, one of them, and what a search found. Pure. No script and nothing from outside.
import { docsHead } from './docs-head.ts'
import type { Guide } from './guide.ts'
import type { Hit } from './guide-search.ts'
import { escaped } from './html.ts'

export type Guides = ReadonlyMap<string, Guide>

/** In the order in which a reader needs them; a page that no group names stands last. */
const groups: Readonly<Record<string, readonly string[]>> = {
  Begin: ['quickstart', 'connect', 'console', 'cli', 'mcp', 'troubleshooting'],
  Services: [
    'services-and-sizes',
    'forks-and-recovery',
    'high-availability',
    'replica-sets',
    'read-only-sessions',
    'previews',
  ],
  'Run it': [
    'operations',
    'settings',
    'backups',
    'monitoring',
    'networking',
    'users-tokens-login',
    'security',
    'kubernetes',
  ],
  'Build on it': ['api', 'client'],
  'How it is made': ['architecture', 'dependencies', 'benchmarks', 'contributing', 'changes', 'security-model'],
}

export function guidePage(guides: Guides, guide: Guide, version: string): string {
  return shell({ guides, version, title: guide.title, here: guide.slug, main: guide.html })
}

export function guideList(guides: Guides, version: string): string {
  const parts = grouped(guides).map(
    ([name, members]) =>
      `<h2>${escaped(name)}</h2><ul class="list">${members
        .map((guide) => `<li>${linkTo(guide)}<p>${escaped(guide.summary)}</p></li>`)
        .join('')}</ul>`,
  )
  const reference = `<p><a href="/docs/reference">API reference</a>: every endpoint with its fields and an example.</p>`
  return shell({ guides, version, title: 'Howdah', main: `<h1>Howdah</h1>${reference}${parts.join('')}` })
}

export function searchPage(guides: Guides, question: string, hits: readonly Hit[], version: string): string {
  const list = hits.map(
    ({ href, title, place, excerpt }) =>
      `<li><a href="${escaped(href)}">${escaped(title)}</a> <span class="place">${escaped(place)}</span><p>${escaped(excerpt)}</p></li>`,
  )
  const found = hits.length === 0 ? '<p>No page has any of these words.</p>' : `<ul class="list">${list.join('')}</ul>`
  const main = `<h1>Search</h1><p role="status">${hits.length} found for “${escaped(question)}”.</p>${found}`
  return shell({ guides, version, title: 'Search', question, main })
}

type Shell = { guides: Guides; version: string; title: string; main: string; here?: string; question?: string }

function shell({ guides, version, title, main, here, question = '' }: Shell): string {
  const links = grouped(guides).map(
    ([name, members]) =>
      `<li><strong>${escaped(name)}</strong><ul>${members.map((guide) => `<li>${linkTo(guide, here)}</li>`).join('')}</ul></li>`,
  )
  return `${docsHead(`${title} · Howdah`, guide_style)}
<body>
<a class="skip" href="#content">Skip to the text</a>
<header><p class="name"><a href="/docs">Howdah</a> <span>${escaped(version)}</span></p>
<form action="/docs/search" role="search"><input type="search" name="q" value="${escaped(question)}" aria-label="Search the documentation" placeholder="Search"><button>Search</button></form>
<p><a href="/docs/reference">API reference</a> · <a href="/">Console</a></p></header>
<div class="columns">
<nav aria-label="Pages"><ul>${links.join('')}</ul></nav>
<main id="content">
${main}
</main>
</div>
</body>
</html>
`
}

function grouped(guides: Guides): [string, Guide[]][] {
  const named = Object.values(groups).flat()
  const others = [...guides.keys()].filter((slug) => !named.includes(slug))
  return [...Object.entries(groups), ['More', others] as const]
    .map(([name, slugs]): [string, Guide[]] => [name, slugs.flatMap((slug) => guides.get(slug) ?? [])])
    .filter(([, members]) => members.length > 0)
}

function linkTo({ slug, title }: Guide, here?: string): string {
  return `<a href="/docs/${escaped(slug)}"${slug === here ? ' aria-current="page"' : ''}>${escaped(title)}</a>`
}

const guide_style = `
header { display: flex; flex-wrap: wrap; gap: .6rem 1.5rem; align-items: center; padding-bottom: 1.2rem; }
header p { margin: 0; }
header .name { font-size: 1.2rem; font-weight: 600; }
header .name a { color: inherit; text-decoration: none; }
header .name span { font-size: .85rem; font-weight: 400; color: var(--muted); }
form { display: flex; gap: .5rem; flex: 1 1 14rem; max-width: 30rem; }
input, button { font: inherit; font-size: .95rem; color: inherit; background: var(--page); border: 1px solid var(--line-strong, var(--line)); border-radius: 8px; padding: .35rem .7rem; }
input { flex: 1; min-width: 0; }
button { cursor: pointer; }
input:focus-visible, button:focus-visible { outline: 3px solid var(--accent); outline-offset: 1px; }
main { max-width: 56rem; }
main h1 { margin: .8rem 0 1rem; }
main h3 { margin: 1.6rem 0 .3rem; }
main img { max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 10px; }
nav a[aria-current] { font-weight: 600; color: var(--ink); }
.list { list-style: none; padding: 0; }
.list p { margin: 0 0 .9rem; color: var(--muted); font-size: .95rem; }
.place { color: var(--muted); font-size: .85rem; }
`
