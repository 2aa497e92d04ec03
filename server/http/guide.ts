// The guides: the Markdown pages of the clone as HTML, with their sections for the search. They are read and rendered at the first request; what is
// written in them as HTML is left out, so that a page consists of what this renderer makes.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { escaped } from './html.ts'

type Section = { anchor: string; title: string; text: string }
/** `summary`: the sentence that it begins with. */
export type Guide = { slug: string; title: string; summary: string; html: string; sections: readonly Section[] }

const root = join(import.meta.dirname, '..', '..')

/** Pages beside those of docs/, by the name under which they are served. */
const in_root: Readonly<Record<string, string>> = {
  'security-model': 'SECURITY.md',
  contributing: 'CONTRIBUTING.md',
  changes: 'CHANGELOG.md',
}

export async function readGuides(): Promise<ReadonlyMap<string, Guide>> {
  const names = (await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md'))
  const files = [...names.map((name) => [name.slice(0, -3), `docs/${name}`] as const), ...Object.entries(in_root)]
  const guides = files.map(async ([slug, path]) => newGuide(slug, await readFile(join(root, path), 'utf8')))
  return new Map((await Promise.all(guides)).map((guide) => [guide.slug, guide]))
}

async function newGuide(slug: string, markdown: string): Promise<Guide> {
  // Loaded with the first page that is asked for.
  const { Marked } = await import('marked')
  const marked = new Marked({
    renderer: {
      html: () => '',
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        return `<a href="${escaped(addressOf(href))}">${this.parser.parseInline(tokens)}</a>`
      },
      image: ({ href, text }) => `<img src="${escaped(addressOf(href))}" alt="${escaped(text)}">`,
      code: ({ text }) => `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`,
    },
  })
  const html = (await marked.parse(markdown))
    .replaceAll('<table>', '<div class="scroll" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
  const sections = sectionsOf(markdown)
  return { slug, title: sections[0]?.title ?? slug, summary: summaryOf(markdown), html, sections }
}

/** Pure: a link between files of the clone as the address of what it leads to. */
function addressOf(href: string): string {
  if (/^(https?:|#)/.test(href)) return href
  const [path = '', heading] = href.split('#')
  const name = path.replace(/^(\.\.|docs)\//, '')
  const beside = Object.entries(in_root).find(([, file]) => file === name)?.[0]
  return `/docs/${beside ?? name.replace(/\.md$/, '')}${heading === undefined ? '' : `#${heading}`}`
}

/** As GitHub names them, so that a link works in both places. */
function anchorOf(heading: string): string {
  const words = heading.toLowerCase().replaceAll(/[^\w\s-]/g, '')
  return words.trim().replaceAll(/\s/g, '-')
}

function sectionsOf(markdown: string): Section[] {
  const parts = markdown.replaceAll(/<!--.*?-->\n?/gs, '').split(/^(?=#{1,3} )/m)
  return parts
    .filter((part) => part.startsWith('#'))
    .map((part) => {
      const [first = '', ...rest] = part.split('\n')
      const title = plain(first.replace(/^#+ /, ''))
      return { anchor: anchorOf(title), title, text: plain(rest.join(' ')) }
    })
}

/** The first sentence, where the page begins with one. */
function summaryOf(markdown: string): string {
  const [, paragraph = ''] = /^# .*\n\n([A-Z`[].*(?:\n.+)*)/.exec(markdown) ?? []
  return /^.*?\.(?=\s|$)/.exec(plain(paragraph))?.[0] ?? ''
}

/** Without what marks links, code and tables. */
function plain(markdown: string): string {
  const text = markdown
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/```\w*|[|<>]|-{3,}/g, ' ')
    .replaceAll(/`|\*\*/g, '')
  return text.replaceAll(/\s+/g, ' ').trim()
}
