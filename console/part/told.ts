// What the page holds outside of components, and tells those that show it when it has changed.
import { useSyncExternalStore } from 'react'

export function newTold() {
  const listeners = new Set<() => void>()
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  return {
    tell: () => {
      for (const listener of listeners) listener()
    },
    useTold: <Value>(read: () => Value): Value => useSyncExternalStore(subscribe, read),
  }
}
