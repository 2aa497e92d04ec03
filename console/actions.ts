// The acts that the page on screen offers, for the palette: pages register theirs while they are shown.
import { useEffect, useSyncExternalStore } from 'react'
import type { Act } from './part/act.ts'

const registered = new Map<symbol, readonly Act[]>()
const listeners = new Set<() => void>()
let all: readonly Act[] = []

export function useOffered(acts: readonly Act[]): void {
  useEffect(() => {
    const key = Symbol('acts')
    registered.set(key, acts)
    tell()
    return () => {
      registered.delete(key)
      tell()
    }
  })
}

export function useAllOffered(): readonly Act[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => all,
  )
}

function tell(): void {
  all = [...registered.values()].flat()
  for (const listener of listeners) listener()
}
