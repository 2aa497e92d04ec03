// Passwords that were shown once and are still on screen: in this tab's memory until their panel is closed, and nowhere else.
import { useSyncExternalStore } from 'react'

const passwords = new Map<string, string>()
const listeners = new Set<() => void>()

export function holdPassword(service_id: string, password: string): void {
  passwords.set(service_id, password)
  for (const listener of listeners) listener()
}

export function dropPassword(service_id: string): void {
  passwords.delete(service_id)
  for (const listener of listeners) listener()
}

/** Undefined once its panel was closed. */
export function usePassword(service_id: string): string | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => passwords.get(service_id),
  )
}
