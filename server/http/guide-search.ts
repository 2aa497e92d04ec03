// The search of the documentation: sections of the guides and endpoints of the API with words of the question; those with most of them first. Pure.
import { api } from '#contract/api.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import type { Guide } from './guide.ts'

export type Hit = { href: string; title: string; place: string; excerpt: string }
type Entry = Hit & { text: string }

const hits_max = 20
const excerpt_length = 220
/** A word in a title says more than one in a text. */
const title_weight = 8

export function searchGuides(guides: Iterable<Guide>, question: string): Hit[] {
  const words = question.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return []
  return [...entriesOf(guides)]
    .map((entry) => ({ entry, score: scoreOf(entry, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, hits_max)
    .map(({ entry: { href, title, place, text } }) => ({ href, title, place, excerpt: excerptOf(text, words) }))
}

function* entriesOf(guides: Iterable<Guide>): Iterable<Entry> {
  for (const { slug, title: place, sections } of guides) {
    for (const { anchor, title, text } of sections) {
      yield { href: `/docs/${slug}#${anchor}`, title, place, text, excerpt: '' }
    }
  }
  for (const [name, { summary, method, path, description = '' }] of Object.entries<Endpoint>(api)) {
    const text = `${method} ${path} ${description.replaceAll('`', '')}`
    yield { href: `/docs/reference#${name}`, title: summary, place: 'API reference', text, excerpt: '' }
  }
}

/** Each further word of the question counts more than any place. A long text has many words, so each counts once there. */
function scoreOf({ title, place, text }: Entry, words: readonly string[]): number {
  const score = (part: string, word: string, weight: number) => (part.toLowerCase().includes(word) ? weight : 0)
  const scores = words.map((word) => score(title, word, title_weight) + score(place, word, 2) + score(text, word, 1))
  const found = scores.filter((one) => one > 0).length
  return found * words.length * (title_weight + 3) + scores.reduce((sum, one) => sum + one, 0)
}

/** Around the first word that is found. */
function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase()
  const found = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0)
  const begin = Math.max(0, Math.min(...(found.length === 0 ? [0] : found)) - excerpt_length / 4)
  const cut = text.slice(begin, begin + excerpt_length)
  return `${begin > 0 ? '… ' : ''}${cut}${begin + excerpt_length < text.length ? ' …' : ''}`
}
