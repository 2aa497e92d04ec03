// Passwords that were shown once and are still on screen: in this tab's memory until their panel is closed, and nowhere else.
import { useSyncExternalStore } from 'react'
import type { Service } from '#contract/service.ts'

const passwords = new Map<string, string>()
const listeners = new Set<() => void>()

/** Of an answer that has one, as soon as it comes: the form that asked may have been left, and the password is told once. */
export function holdPasswordOf<Answer>(answer: Answer): Answer {
  const { service_id, initial_password }: Partial<Service> = answer ?? {}
  if (service_id === undefined || initial_password === undefined) return answer
  passwords.set(service_id, initial_password)
  for (const listener of listeners) listener()
  return answer
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
