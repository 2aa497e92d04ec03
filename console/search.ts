// The query string of a page: plain words, as people write them. State of a view is nowhere else, but for a moment: the address follows
// a change a little later, and a field that waited for it would lose letters, and the place of its caret.
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'

export type Search = Readonly<Partial<Record<string, string>>>

export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text))
}

export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}

/** What the address says, or is about to say, and a way to change a part of it. */
export function useView(): [Search, (changes: Search) => void] {
  const search: Search = useSearch({ strict: false })
  const navigate = useNavigate()
  const [ahead, setAhead] = useState<Search>()
  const view = ahead ?? search
  const setView = (changes: Search) => {
    const next = parseSearch(stringifySearch({ ...view, ...changes }))
    setAhead(next)
    void navigate({ to: '.', search: next, replace: true }).then(() =>
      setAhead((current) => (current === next ? undefined : current)),
    )
  }
  return [view, setView]
}
