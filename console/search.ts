// The query string of a page: plain words, as people write them. State of a view is nowhere else.
import { useNavigate, useSearch } from '@tanstack/react-router'

export type Search = Readonly<Partial<Record<string, string>>>

export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text))
}

export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}

/** What the address says, and a way to change a part of it. */
export function useView(): [Search, (changes: Search) => void] {
  const search: Search = useSearch({ strict: false })
  const navigate = useNavigate()
  return [search, (changes) => void navigate({ to: '.', search: { ...search, ...changes }, replace: true })]
}
