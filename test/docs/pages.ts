// The documentation as text: its pages, and the blocks of shell in them that readers paste.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '#test/sources.ts'

export type Block = { language: string; text: string; not_run: string | undefined }
export type Page = { path: string; text: string; blocks: readonly Block[] }

/** With the reason why it is not run, in a comment right above. */
const fence = /^(?:<!-- not run: ([^\n]+) -->\n)?( *)```(\w*)\n(.*?)^\2```$/gms

const in_root = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md']
const in_docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))

export const pages: readonly Page[] = [...in_root, ...in_docs.map((name) => `docs/${name}`)].map(readPage)

export function pageAt(path: string): Page {
  const page = pages.find((each) => each.path === path)
  if (page === undefined) throw new Error(`there is no page ${path}`)
  return page
}

/** Without blocks of code, where a word is only an example. */
export const prose = ({ text }: Page): string => text.replaceAll(fence, '')

/** The cells of every row of every table below a heading, without its head and its backticks. */
export function tableBelow({ text }: Page, heading: string): string[][] {
  const section = text.split(/^#+ /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('|'))
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}

function readPage(path: string): Page {
  const text = readFileSync(join(root, path), 'utf8')
  const blocks = [...text.matchAll(fence)].map(([, not_run, , language = '', code = '']) => {
    return { language, text: code, not_run }
  })
  return { path, text, blocks }
}
