// The acts that the page on screen offers, for the palette: pages register theirs while they are shown.
import { useEffect } from 'react'
import type { Act } from './part/act.ts'
import { newTold } from './part/told.ts'

const registered = new Map<symbol, readonly Act[]>()
const { tell, useTold } = newTold()
let all: readonly Act[] = []

export function useOffered(acts: readonly Act[]): void {
  useEffect(() => {
    const key = Symbol('acts')
    registered.set(key, acts)
    gather()
    return () => {
      registered.delete(key)
      gather()
    }
  })
}

export function useAllOffered(): readonly Act[] {
  return useTold(() => all)
}

function gather(): void {
  all = [...registered.values()].flat()
  tell()
}
