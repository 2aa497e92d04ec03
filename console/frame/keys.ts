// Keys: Ctrl-K opens the palette, / finds on the page, g and a letter go somewhere, c creates, ? lists them. They are off while a
// field has the focus, and can be switched off in the account.
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { kept } from '../keep.ts'
import { paths } from '../paths.ts'

export const key_list = [
  ['Ctrl K', 'Find and act'],
  ['/', 'Search on this page'],
  ['g s', 'Services'],
  ['g n', 'Networks'],
  ['g a', 'Activity'],
  ['c', 'Create a service'],
  ['?', 'This list'],
] as const

const pair_ms = 1_000

/** What a key can open over the page. */
export type Panel = 'palette' | 'keys' | undefined

export function useKeys(project_id: string | undefined, open: (panel: Panel) => void): void {
  const navigate = useNavigate()
  useEffect(() => {
    let g_until = 0
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        return open('palette')
      }
      if (kept('keys') === 'off' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const pair = event.timeStamp < g_until ? `g ${event.key}` : event.key
      g_until = event.key === 'g' ? event.timeStamp + pair_ms : 0
      if (pair === '?') return open('keys')
      if (pair === '/') {
        event.preventDefault()
        return document.querySelector<HTMLInputElement>('main input[type=search]')?.focus()
      }
      const to = project_id && targetOf(pair, project_id)
      if (to) void navigate({ to })
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [project_id, navigate, open])
}

function targetOf(keys: string, project_id: string): string | undefined {
  const targets: Readonly<Record<string, string>> = {
    'g s': paths.services(project_id),
    'g n': paths.networks(project_id),
    'g a': paths.activity(project_id),
    c: paths.newService(project_id),
  }
  return targets[keys]
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest('input, select, textarea, [role=dialog], [role=alertdialog], [contenteditable]') !== null
  )
}
